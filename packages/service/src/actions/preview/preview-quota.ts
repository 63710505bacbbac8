import { RunningQuota } from '../../running-quota.ts'

/** How many previews run on this node at a time, by API key. */
export class PreviewQuota extends RunningQuota {
  constructor() {
    super({
      name: 'previews',
      perKeyMax: 1,
      perNodeMax: 2,
      detail: 'Too many previews are running on this node. Wait until one has ended.',
    })
  }
}
