/** The size of a PNG or SVG, so that pages keep its place free. Undefined if it is not stated. */
export function measurePicture(
  body: Buffer,
): { readonly width: number; readonly height: number } | undefined {
  if (body.subarray(1, 4).toString('latin1') === 'PNG' && body.length >= 24)
    return { width: body.readUInt32BE(16), height: body.readUInt32BE(20) }
  const [, width, height] =
    /^[^>]*<svg[^>]*\sviewBox="[\d.-]+[\s,]+[\d.-]+[\s,]+([\d.]+)[\s,]+([\d.]+)"/.exec(
      body.subarray(0, 4096).toString('utf8'),
    ) ?? []
  if (width === undefined || height === undefined) return undefined
  return { width: Math.round(Number(width)), height: Math.round(Number(height)) }
}
