/** Four buckets for each doubling: a bucket is 19 % wide. */
const BUCKETS_PER_DOUBLING = 4

/** The bucket of a time: it has times above the bound of the bucket before, up to its own. */
export function toBucket(ms: number): number {
  return ms <= 1 ? 0 : Math.ceil(Math.log2(ms) * BUCKETS_PER_DOUBLING)
}

/** The upper bound of a bucket, in milliseconds. */
export function toBucketBound(bucket: number): number {
  return Math.floor(2 ** (bucket / BUCKETS_PER_DOUBLING))
}
