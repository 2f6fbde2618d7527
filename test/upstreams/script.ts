import type { Outcome } from '../../src/demo/outcome.ts'

export interface ScriptedReply {
  /** Absent: the simulation's own answer. */
  readonly outcome?: Outcome
  /** Nothing is answered before this resolves. */
  readonly after?: Promise<unknown>
  /** How many requests get it; default 1. */
  readonly times?: number
}

/** Replies that tests put in place of the simulation's own, in order, each route for itself. */
export interface Script<Route extends string> {
  readonly add: (route: Route, replies: readonly ScriptedReply[]) => void
  /** Takes the next reply of the route; undefined = the simulation answers. */
  readonly take: (route: Route) => ScriptedReply | undefined
}

export function createScript<Route extends string>(): Script<Route> {
  const queues = new Map<Route, { readonly reply: ScriptedReply; left: number }[]>()
  return {
    add: (route, replies) => {
      const queue = queues.get(route) ?? []
      queues.set(route, [...queue, ...replies.map((reply) => ({ reply, left: reply.times ?? 1 }))])
    },
    take: (route) => {
      const queue = queues.get(route)
      const first = queue?.[0]
      if (first === undefined) return undefined
      first.left -= 1
      if (first.left <= 0) queue?.shift()
      return first.reply
    },
  }
}
