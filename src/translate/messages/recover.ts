import { Fault } from '../../errors.ts'
import type { EncodeContext, EncodedRequest, Recovery, UpstreamRefusal } from '../dialect.ts'
import { recoverFromSize } from '../images.ts'
import { isPromptTooLong } from '../parts/error-wording.ts'
import type { Warning } from '../warning.ts'
import { adaptRequest } from './adapt/adapt.ts'
import { targetOf } from './adapt/target.ts'
import { encodeHeaders, sentBetas } from './encode-headers.ts'
import { joinLessons } from './lessons.ts'
import { refusals, type Refused, type Remedy } from './refusals.ts'
import { parseSent } from './sent-body.ts'

/**
 * The request once more, through the same rules with what upstream has just taught. Undefined where the refusal names
 * nothing that can be taken out: a prompt that is too long, a prefill, a model that is not there.
 */
export function recoverMessages(
  sent: EncodedRequest,
  refusal: UpstreamRefusal,
  context: EncodeContext,
): Recovery | undefined {
  if (refusal.status === 413) return recoverFromSize(sent, { member: 'messages', textType: 'text' })
  if (refusal.status !== 400 || isPromptTooLong(refusal)) return undefined
  const body = parseSent(sent)
  if (body === undefined) return undefined
  const refused: Refused = { body, betas: sentBetas(sent.headers) }
  const remedy = findRemedy(`${refusal.code ?? ''}: ${refusal.message}`, refused)
  if (remedy === undefined) return undefined
  const request = apply(remedy, refused, sent, context)
  return request === undefined ? undefined : { request, lesson: joinLessons(remedy.lessons ?? []) }
}

function findRemedy(text: string, refused: Refused): Remedy | undefined {
  for (const { pattern, remedy } of refusals) {
    const match = pattern.exec(text)
    const found = match === null ? undefined : remedy(match, refused)
    if (found !== undefined) return found
  }
  return undefined
}

function apply(
  { lessons = [], passing = [], edit, field }: Remedy,
  refused: Refused,
  sent: EncodedRequest,
  context: EncodeContext,
): EncodedRequest | undefined {
  const target = targetOf(context.model, new Set([...context.lessons, ...lessons, ...passing]))
  try {
    const edited = edit === undefined ? refused.body : edit(refused.body)
    const { body, betas, warnings } = adaptRequest({ body: edited, betas: refused.betas }, target)
    const text = JSON.stringify(body)
    // Neither the space between members nor their order was the reason.
    if (text === JSON.stringify(refused.body) && betas.length === refused.betas.length) return undefined
    const taught: Warning = { code: 'refused_upstream', field, detail: 'upstream refused it, sent again without' }
    return {
      body: Buffer.from(text),
      headers: encodeHeaders(betas),
      warnings: [...sent.warnings, ...withoutEcho(warnings), taught],
    }
  } catch (error) {
    // Without what was refused there is no request: then the refusal is the answer.
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** The keys and types that were taken out are what the one warning is about. */
function withoutEcho(warnings: readonly Warning[]): readonly Warning[] {
  return warnings.filter(({ code }) => code !== 'refused_upstream')
}
