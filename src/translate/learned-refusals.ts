import type { ConversationShape, EncodeContext, EncodedRequest, Recovery, UpstreamRefusal } from './dialect.ts'
import type { Rule } from './engine/rules.ts'
import { recoverFromImage, recoverFromSize } from './images.ts'
import { type JsonObject, isFilled, isObject } from '../json/json.ts'
import { parseObjectBytes } from './parts/json-body.ts'
import { changedMembers, spliceMembers, type JsonObjectBytes } from '../json/json-members.ts'
import type { Warning } from './warning.ts'

/** What upstream refuses in one dialect, and the remedies. The first row that changes the request counts. */
export interface RefusalTable {
  readonly rows: readonly RefusalRow[]
  /** For 413, a refusal of the size alone. */
  readonly conversation: Pick<ConversationShape, 'member' | 'textType'>
  /** Whether the caller gets the refusal, so that no remedy is tried. */
  readonly isAnswer?: (refusal: UpstreamRefusal) => boolean
  /**
   * Makes a request from an edited body and the learned keys; undefined if it equals the refused request. Absent: the
   * edited members are serialised again, and the other members keep their bytes.
   */
  readonly encode?: (body: JsonObject, learned: readonly string[], refused: Refused) => EncodedRequest | undefined
}

/** One wording of a refusal. */
export interface RefusalRow {
  readonly name: string
  /** Source of the wording. `messages, x` is row x of docs/copilot-wire.md, "Messages requests". */
  readonly source: string
  /** Matches `code: param: message`, without those that upstream leaves out. */
  readonly pattern: RegExp
  /** Undefined if the request does not contain what the refusal names. */
  readonly remedy: Remedy | ((match: RegExpExecArray, refused: Refused) => Remedy | undefined)
}

export interface Refused {
  /** The body of `sent`, parsed. */
  readonly body: JsonObject
  readonly source: JsonObjectBytes
  readonly sent: EncodedRequest
  readonly refusal: UpstreamRefusal
  readonly context: EncodeContext
}

/** The change that a refused request needs. */
export interface Remedy {
  /**
   * Returns the same object if there is nothing to change. Absent, in a table without `encode`: the caller's request is
   * encoded again with `learned`, because the reply is then read differently.
   */
  readonly edit?: (body: JsonObject) => JsonObject
  /** Keys of learned refusals, without spaces. Later requests to the model are encoded with them. */
  readonly learned?: readonly string[]
  /**
   * The refusal names a member and not a value: it may be about this one request, so later requests are encoded with
   * `learned` only after a second refusal.
   */
  readonly fromSecondRefusal?: boolean
  /** `learned` applies to this request, or to the backend that happened to answer it, and not to the model. */
  readonly isPassing?: boolean
  readonly warnings?: readonly Warning[]
}

export function createRecover(table: RefusalTable) {
  const { rows, conversation, isAnswer } = table
  return (sent: EncodedRequest, refusal: UpstreamRefusal, context: EncodeContext): Recovery | undefined => {
    if (refusal.status === 413) return recoverFromSize(sent, conversation)
    const source = isAnswer?.(refusal) === true ? undefined : parseObjectBytes(sent.body)
    if (source === undefined) return undefined
    const refused: Refused = { body: source.value, source, sent, refusal, context }
    const text = [refusal.code, refusal.param, refusal.message].filter(isFilled).join(': ')
    for (const { pattern, remedy } of rows) {
      const match = pattern.exec(text)
      if (match === null) continue
      const chosen = typeof remedy === 'function' ? remedy(match, refused) : remedy
      const recovery = chosen && apply(chosen, table, refused, source)
      if (recovery !== undefined) return recovery
    }
    return recoverFromImage(sent, conversation, refusal)
  }
}

function apply(remedy: Remedy, table: RefusalTable, refused: Refused, source: JsonObjectBytes): Recovery | undefined {
  const { edit, learned = [], fromSecondRefusal = false, isPassing = false, warnings = [] } = remedy
  const { sent, context } = refused
  const learnedRefusal = isPassing || learned.length === 0 ? undefined : learned.join(' ')
  if (edit === undefined && table.encode === undefined) {
    // If the request was already encoded with these keys, they do not help.
    return learned.every((key) => context.learnedRefusals.has(key)) ? undefined : { learnedRefusal, fromSecondRefusal }
  }
  if (edit === undefined && learned.length === 0) return undefined
  const body = edit?.(source.value) ?? source.value
  const request = table.encode === undefined ? splice(sent, source, body) : table.encode(body, learned, refused)
  if (request === undefined) return undefined
  return { request: { ...request, warnings: [...request.warnings, ...warnings] }, learnedRefusal, fromSecondRefusal }
}

function splice(sent: EncodedRequest, source: JsonObjectBytes, body: JsonObject): EncodedRequest | undefined {
  const edits = changedMembers(source.value, body)
  return edits.size === 0 ? undefined : { ...sent, body: spliceMembers(source, edits) }
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

/** Drops one field from this request and, after a second refusal, from later ones. Undefined as for `refusedField`. */
export function withoutField(named: string, isEssential: IsEssential, detail?: string): Remedy | undefined {
  const field = refusedField(named, isEssential)
  if (field === undefined) return undefined
  return {
    edit: removing(field),
    learned: [learnedField(field)],
    fromSecondRefusal: true,
    warnings: [{ code: 'refused_upstream', field, ...(detail !== undefined && { detail }) }],
  }
}

export function nameSet(list: string): ReadonlySet<string> {
  return new Set(list.split(' '))
}

export function removing(...paths: readonly string[]) {
  return (body: JsonObject): JsonObject => removeAt(body, ...paths)
}

/** @param path as `refusedField` returns it */
export function learnedField(path: string): string {
  return `field:${path}`
}

/** The values of the learned refusals of one kind, the newest last: `x` of `field:x`. */
export function learnedValues(learned: ReadonlySet<string>, kind: string): readonly string[] {
  const prefix = `${kind}:`
  return [...learned]
    .flatMap((keys) => keys.split(' '))
    .flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : []))
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
