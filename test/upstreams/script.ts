import type { Outcome } from './http/outcome.ts'

export interface ScriptedReply {
  /** Absent: the simulation's own answer. */
  readonly outcome?: Outcome
  /** The answer waits until this resolves. */
  readonly after?: Promise<unknown>
  /** The number of requests that get this reply; default 1. */
  readonly times?: number
}

/** Replies that tests set in place of the simulation's own, in order, for each route. */
export interface Script<Route extends string> {
  readonly add: (route: Route, replies: readonly ScriptedReply[]) => void
  /** Returns the next reply for the route and removes it; undefined: the simulation answers. */
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
