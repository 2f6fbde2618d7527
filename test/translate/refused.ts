import type { DialectId, EncodeContext, UpstreamDialectId, UpstreamRefusal } from '../../src/translate/dialect.ts'
import { dialects } from '../../src/translate/dialects.ts'
import { newWarnings, recoverRequest } from '../../src/translate/engine/learned-refusals.ts'
import { translateCall } from '../../src/translate/translated-call.ts'
import { formatWarning } from '../../src/translate/warning.ts'

type Json = Readonly<Record<string, unknown>>

/** What upstream says, by default with status 400. */
export type Words = string | (Partial<UpstreamRefusal> & { readonly message: string })

function refusal(words: Words): UpstreamRefusal {
  return { kind: 'upstream_status', status: 400, ...(typeof words === 'string' ? { message: words } : words) }
}

interface Call {
  readonly upstream: UpstreamDialectId
  /** Default: that of upstream. */
  readonly caller?: DialectId
  /** The caller's own text. */
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
  readonly context: EncodeContext
}

/** The caller's request as upstream gets it, and what becomes of it if upstream refuses it. */
export function callOf({ upstream: id, caller: callerId = id, text, headers = {}, context }: Call) {
  const [upstream, caller] = [dialects[id].upstream, dialects[callerId]]
  const request = caller.decodeRequest(text, { bytes: Buffer.from(text), headers })
  const encode = (each: EncodeContext) => translateCall(caller, upstream, request, each).request
  const sent = encode(context)
  return {
    sent,
    /** Undefined if the refusals are the answer. */
    refusedAs: (...refusals: readonly Words[]) => {
      let current = { request: sent, context }
      let recovery: ReturnType<typeof recoverRequest>
      for (const words of refusals) {
        recovery = recoverRequest(upstream, current.request, refusal(words), current.context, encode)
        if (recovery === undefined) return undefined
        const { learned = [], passing = [] } = recovery.recovery
        const learnedRefusals = new Set([...current.context.learnedRefusals, ...learned, ...passing])
        current = { request: recovery.request, context: { ...context, learnedRefusals } }
      }
      if (recovery === undefined) return undefined
      const { body, warnings } = recovery.request
      const json = body.toString()
      // Every body here is a JSON object: it was made of one.
      const value = JSON.parse(json) as Json
      return {
        request: recovery.request,
        json,
        value,
        /** What later requests to the model know. */
        learned: recovery.recovery.learned ?? [],
        /** Those that the first request did not have. */
        warnings: [...warnings, ...newWarnings(recovery, sent.warnings)]
          .map(formatWarning)
          .filter((each) => !sent.warnings.map(formatWarning).includes(each)),
      }
    },
  }
}
