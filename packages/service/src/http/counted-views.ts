import type { LiveViews } from '../log/live-views.ts'

/** The views of the node for the requests of one listener. */
export interface CountedViews {
  readonly views: LiveViews
  /** How many calls of `views.waitFor` wait now, through this object. */
  readonly waiting: number
}

/** Counts the requests of one listener that wait for this node to apply the log. */
export function countWaits(views: LiveViews): CountedViews {
  let waiting = 0
  const waitFor: LiveViews['waitFor'] = async (position) => {
    if (views.position >= position) return
    waiting++
    try {
      await views.waitFor(position)
    } finally {
      waiting--
    }
  }
  // Private members exist on the views only, so methods are bound to them: once, since decisions
  // call some of them.
  const bound = new Map<unknown, unknown>()
  const get = (_target: LiveViews, name: string | symbol): unknown => {
    if (name === 'waitFor') return waitFor
    const member: unknown = Reflect.get(views, name)
    if (typeof member !== 'function') return member
    const own: unknown = bound.get(member) ?? member.bind(views)
    bound.set(member, own)
    return own
  }
  return {
    views: new Proxy(views, { get }),
    get waiting() {
      return waiting
    },
  }
}
