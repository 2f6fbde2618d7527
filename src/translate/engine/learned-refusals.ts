import { Fault } from '../../errors.ts'
import type {
  ConversationShape,
  EncodeContext,
  EncodedRequest,
  Recovery,
  UpstreamDialect,
  UpstreamRefusal,
} from '../dialect.ts'
import type { Rule } from './apply-rules.ts'
import { recoverFromImage, recoverFromSize } from './media/images.ts'
import { type JsonObject, isFilled, isObject, parseObject } from '../../json/json.ts'
import { changedMembers } from '../../json/json-members.ts'
import { formatWarning, type Warning } from '../warning.ts'

/** A wording of upstream's refusals. */
export interface RefusalRow {
  readonly name: string
  /** Source of the wording. `messages, x` is row x of docs/copilot-wire.md, "Messages requests". */
  readonly source: string
  /** Matches `code: param: message`, without those that upstream leaves out. */
  readonly pattern: RegExp
  /** Undefined if the request does not contain what the refusal names. */
  readonly finding: Recovery | ((match: RegExpExecArray, refused: Refused) => Recovery | undefined)
}

export interface Refused {
  /** The body of `sent`, parsed. */
  readonly body: JsonObject
  readonly sent: EncodedRequest
  readonly refusal: UpstreamRefusal
  readonly context: EncodeContext
}

/** @param isAnswer whether the caller gets the refusal in any case */
export function createRecover(
  rows: readonly RefusalRow[],
  member: ConversationShape['member'],
  isAnswer: (refusal: UpstreamRefusal) => boolean = () => false,
): UpstreamDialect['recover'] {
  return (sent, refusal, context) => {
    if (refusal.status === 413) return [recoverFromSize]
    const body = isAnswer(refusal) ? undefined : parseObject(sent.body.toString('utf8'))
    if (body === undefined) return []
    const text = [refusal.code, refusal.param, refusal.message].filter(isFilled).join(': ')
    const found = rows.flatMap(({ pattern, finding }): readonly Recovery[] => {
      const match = pattern.exec(text)
      if (match === null) return []
      const recovery = typeof finding === 'function' ? finding(match, { body, sent, refusal, context }) : finding
      return recovery === undefined ? [] : [recovery]
    })
    return [...found, ...recoverFromImage(body, member, refusal)]
  }
}

export interface Recovered {
  readonly recovery: Recovery
  readonly request: EncodedRequest
}

/**
 * The caller's request, encoded again with what the refusal says. Undefined if that changes nothing or leaves no request: the
 * refusal is then the answer.
 * @param context as `sent` was encoded
 * @param encodeAgain encodes the caller's request
 */
export function recoverRequest(
  { recover }: Pick<UpstreamDialect, 'recover'>,
  sent: EncodedRequest,
  refusal: UpstreamRefusal,
  context: EncodeContext,
  encodeAgain: (context: EncodeContext) => EncodedRequest,
): Recovered | undefined {
  for (const recovery of recover(sent, refusal, context)) {
    const { learned = [], passing = [] } = recovery
    const learnedRefusals = new Set([...context.learnedRefusals, ...learned, ...passing])
    if (learnedRefusals.size === context.learnedRefusals.size) continue
    const request = encodeIfPossible(() => encodeAgain({ ...context, learnedRefusals }))
    if (request !== undefined && !isSame(request, sent)) return { recovery, request }
  }
  return undefined
}

function encodeIfPossible(encode: () => EncodedRequest): EncodedRequest | undefined {
  try {
    return encode()
  } catch (error) {
    // Without the refused parts nothing is left of the request.
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Upstream refused neither the space between members nor the digits of a number. */
function isSame(one: EncodedRequest, other: EncodedRequest): boolean {
  if (JSON.stringify(one.headers) !== JSON.stringify(other.headers)) return false
  const [text, otherText] = [one.body.toString('utf8'), other.body.toString('utf8')]
  return text === otherText || JSON.stringify(parseObject(text)) === JSON.stringify(parseObject(otherText))
}

/** The recovery's own warnings, if the rules tell of nothing that upstream refused. @param before of the refused request */
export function newWarnings({ recovery, request }: Recovered, before: readonly Warning[]): readonly Warning[] {
  const known = new Set(before.map(formatWarning))
  const isTold = request.warnings.some((each) => each.code === 'refused_upstream' && !known.has(formatWarning(each)))
  return isTold ? [] : (recovery.warnings ?? [])
}

const PATH = String.raw`(?<![\w$.[\]-])([\w$[\]-]{1,64}(?:\.[\w$[\]-]{1,64}){0,15})`

/** `Unknown parameter: 'input[0].x'.`, `Unrecognized request argument supplied: x`, `x.y: Extra inputs are not permitted`. */
const namings: readonly RegExp[] = [
  `(?:unsupported|unknown|unrecognized|invalid)(?: request)? (?:parameter|argument|field)s?(?: supplied)?(?:: |:? ?(?=["'\`]))["'\`]?${PATH}`,
  `${PATH}: extra inputs are not permitted`,
].map((naming) => new RegExp(naming, 'gi'))

/** The paths of the fields that upstream's message refuses. */
export function namedFields({ message }: UpstreamRefusal): readonly string[] {
  return namings.flatMap((naming) => [...message.matchAll(naming)].flatMap(([, path]) => path ?? []))
}

/** `Unsupported value: 'x'` quotes the value or, if the value is no string, the name of the field. */
export const UNSUPPORTED_VALUE = /unsupported value:? ["'`]([^"'`]{1,64})["'`]/i

/** Upstream's codes for a field that `param` names and the message may not. */
export const FIELD_CODES = /^(?:unsupported_parameter|unknown_parameter|unsupported_value):/

/** Whether dropping the field would change the question or leave no request. */
export type IsEssential = (steps: readonly string[]) => boolean

/**
 * The path under which a field is learned, with positions replaced by every element. Undefined for a text that is no
 * field, and for an essential field.
 */
export function refusedField(named: string, isEssential: IsEssential): string | undefined {
  const path = withoutPositions(named)
  const steps = stepsOf(path)
  const isField = !/\s/.test(path) && !steps.includes('') && steps[0] !== '*' && steps.at(-1) !== '*'
  return isField && !isEssential(steps) ? path : undefined
}

/** The field leaves this request and, after a second refusal, later ones. Undefined as for `refusedField`. */
export function withoutField(named: string, isEssential: IsEssential): Recovery | undefined {
  const field = refusedField(named, isEssential)
  if (field === undefined) return undefined
  return { learned: [learnedField(field)], fromSecondRefusal: true, warnings: [{ code: 'refused_upstream', field }] }
}

/** Fields that leave this request alone. */
export function withoutFields(...paths: readonly string[]): Recovery {
  return { passing: paths.map(learnedField) }
}

/** @param path as `refusedField` returns it */
export function learnedField(path: string): string {
  return `field:${path}`
}

/** The values of the learned refusals of one kind, the newest last: `x` of `field:x`. */
export function learnedValues(learned: ReadonlySet<string>, kind: string): readonly string[] {
  const prefix = `${kind}:`
  return [...learned].flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : []))
}

/**
 * The rule that leaves out the fields that the model has refused before. Runs after the rules that rename fields.
 * @param source the documentation of the refusals
 */
export function learnedFieldsRule<Body extends JsonObject, Target extends Pick<EncodeContext, 'learnedRefusals'>>(
  source: string,
): Rule<Body, Target> {
  return {
    name: 'what upstream refused before left out',
    source,
    adapt: ({ body }, { learnedRefusals }) => {
      let kept: JsonObject = body
      const fields = learnedValues(learnedRefusals, 'field').filter((path) => {
        const before = kept
        kept = removeAt(before, path)
        return kept !== before
      })
      if (fields.length === 0) return undefined
      const detail = 'the provider has refused this field for this model'
      return {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members of the body, without some
        patch: Object.fromEntries(changedMembers(body, kept)) as Partial<Body>,
        warnings: fields.map((field) => ({ code: 'refused_upstream', field, detail })),
      }
    },
  }
}

// A path is a text in upstream's form: `input[0].phase` or `tools.0.custom.name`. Edits replace each position by every
// element, which is written `[]` or `*`.

/** Converts `input[0].phase` to `input[].phase`, and `tools.0.name` to `tools.*.name`. */
function withoutPositions(path: string): string {
  return path.replaceAll(/\[\d*\]/g, '[]').replaceAll(/(?<=^|\.)\d+(?=\.|$)/g, '*')
}

/** Splits a path into keys, with `*` for every element. */
export function stepsOf(path: string): readonly string[] {
  return withoutPositions(path).replaceAll('[]', '.*').split('.')
}

/** Removes the values at the paths. Returns the same object if it has none of them. */
export function removeAt(object: JsonObject, ...paths: readonly string[]): JsonObject {
  return paths.reduce((kept, path) => editAt(kept, path, () => undefined), object)
}

/**
 * Replaces each value at the path by the result of `edit`; undefined removes the member or the element. Returns the
 * same object, with the same arrays and objects in it, if nothing changes.
 *
 * A step may also be the `type` of the value that it enters, because the Messages API names types in paths:
 * `tools.*.custom.eager_input_streaming` (docs/copilot-wire.md, "messages, unknown fields").
 */
export function editAt(object: JsonObject, path: string, edit: (value: unknown) => unknown): JsonObject {
  const steps = stepsOf(path)
  // The first step is always a member, because a request body has no type.
  const edited = Object.hasOwn(object, steps[0] ?? '') ? editBelow(object, steps, edit) : object
  return isObject(edited) ? edited : object
}

function editBelow(value: unknown, steps: readonly string[], edit: (value: unknown) => unknown): unknown {
  const [step, ...inner] = steps
  if (step === undefined) return edit(value)
  if (Array.isArray(value)) {
    if (step !== '*') return value
    const elements: readonly unknown[] = value
    const edited = elements.map((element) => editBelow(element, inner, edit))
    return edited.every((element, at) => element === elements[at])
      ? value
      : edited.filter((element) => element !== undefined)
  }
  if (!isObject(value)) return value
  if (inner.length > 0 && isOfType(value, step)) return editBelow(value, inner, edit)
  if (!Object.hasOwn(value, step)) return value
  const edited = editBelow(value[step], inner, edit)
  if (edited === value[step]) return value
  if (edited !== undefined) return { ...value, [step]: edited }
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== step))
}

/** A tool without a type is a `custom` tool. */
function isOfType(value: JsonObject, step: string): boolean {
  return (value['type'] ?? 'custom') === step && !(value['type'] === undefined && Object.hasOwn(value, step))
}
