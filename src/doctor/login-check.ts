import { failed, ok, skipped } from './check.ts'
import type { Findings } from './check.ts'

/** Whose login is used with one provider, as this machine knows it without asking anybody. */
export type LoginState =
  | { readonly kind: 'off'; readonly detail: string }
  | { readonly kind: 'nobody' }
  /** There should be one and it cannot be used; `fix` says what helps. */
  | { readonly kind: 'problem'; readonly detail: string; readonly fix: string }
  /** For people: the account and where its login comes from. */
  | { readonly kind: 'login'; readonly who: string }

export interface LoginQuestion {
  /** `Copilot`. */
  readonly name: string
  readonly loginCommand: string
  /** Somebody is logged in to the other provider, or a login of it is at least stored. */
  readonly hasOther: boolean
}

/** One provider is enough: nobody at the other one is no trouble. */
export function judgeLogin(state: LoginState, { name, loginCommand, hasOther }: LoginQuestion): Findings {
  switch (state.kind) {
    case 'off':
      return skipped(state.detail)
    case 'login':
      return ok(state.who)
    case 'problem':
      return failed(state.detail, state.fix)
    case 'nobody':
      return hasOther
        ? skipped(`Nobody is logged in to ${name}; if you want to use it: ${loginCommand}`)
        : [{ status: 'failed', detail: 'Nobody is logged in', fix: `Run: ${loginCommand}`, nobody: true }]
  }
}
