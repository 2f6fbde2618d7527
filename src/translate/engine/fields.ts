import { isFilled, isObject, type JsonObject } from '../../json/json.ts'
import type { FieldNames, Sampling, Turn, TurnField } from '../turn.ts'
import type { Warning } from '../warning.ts'

/** The settings that one member of a body can state. */
type Settings = Sampling & Pick<Turn, 'maxOutputTokens' | 'stop' | 'format' | 'verbosity' | 'parallelToolCalls'>

/** A setting of a Turn, and the member of a body that states it. Rules decide which values a model takes. */
type Field = { readonly [Name in keyof Settings]-?: FieldOf<Name> }[keyof Settings]

interface FieldOf<Name extends keyof Settings> {
  readonly member: string
  readonly setting: Name
  /** From the wire; undefined if the value states nothing. Absent: the value stays, which the dialect's schema has checked. */
  readonly from?: (value: unknown) => Settings[Name] | undefined
  /** To the wire. Absent: the value stays. */
  readonly to?: (value: NonNullable<Settings[Name]>) => unknown
}

/** The rows that a dialect states. A dialect that only callers speak uses `read` and leaves `fields` empty. */
interface FieldRows {
  /** Members that are read and written, in the order in which they are written. */
  readonly fields: readonly Field[]
  /** Members that callers state and that are never written. Of two members for one setting, this one counts. */
  readonly read: readonly Field[]
  /** Paths of members that functions read and write, because one setting needs several. The last one names the setting. */
  readonly composed: readonly { readonly member: string; readonly setting: TurnField }[]
  /** All other members that are read, and members that change no answer. */
  readonly known: ReadonlySet<string>
  /** Values that ask for the default. */
  readonly usual: ReadonlyMap<string, readonly unknown[]>
}

/** The settings of a dialect. */
export interface FieldTable extends FieldRows {
  /** The names of members that are read, at the top of a body. */
  readonly members: ReadonlySet<string | undefined>
  /** The settings that are written. */
  readonly written: ReadonlySet<string>
  /** The member that states each setting, unless a body has another one for it. */
  readonly names: FieldNames
}

/** The names in a list with spaces between them. */
export function nameSet(list: string): ReadonlySet<string> {
  return new Set(list.split(' '))
}

/** Makes a table ready for use. */
export function createFieldTable(rows: FieldRows): FieldTable {
  const { fields, read, composed } = rows
  const all = [...composed, ...read, ...fields]
  return {
    ...rows,
    members: new Set(all.map(({ member }) => member.split('.', 1)[0])),
    written: new Set([...fields, ...composed].map(({ setting }) => setting)),
    names: { ...turnFieldNames, ...Object.fromEntries(all.map(({ member, setting }) => [setting, member])) },
  }
}

/** The names of the settings in a Turn of this process. */
export const turnFieldNames: FieldNames = {
  maxOutputTokens: 'maxOutputTokens',
  temperature: 'sampling.temperature',
  topP: 'sampling.topP',
  topK: 'sampling.topK',
  frequencyPenalty: 'sampling.frequencyPenalty',
  presencePenalty: 'sampling.presencePenalty',
  seed: 'sampling.seed',
  logitBias: 'sampling.logitBias',
  stop: 'stop',
  format: 'format',
  verbosity: 'verbosity',
  reasoning: 'reasoning',
  effort: 'reasoning.effort',
  logprobs: 'logprobs',
  toolChoice: 'toolChoice',
  parallelToolCalls: 'parallelToolCalls',
}

type DecodedFields = Pick<Turn, 'fieldNames' | 'sampling' | Exclude<keyof Settings, keyof Sampling>>

/**
 * Reads the settings of a checked body. `fieldNames` has the member that states each setting.
 * @throws Fault `invalid_request`
 */
export function decodeFields(body: JsonObject, { fields, read, names }: FieldTable): DecodedFields {
  const values: Record<string, unknown> = {}
  const otherNames: Record<string, string> = {}
  for (const { member, setting, from } of [...fields, ...read]) {
    const stated = body[member] ?? undefined
    const value = stated === undefined || from === undefined ? stated : from(stated)
    if (value === undefined) continue
    values[setting] = value
    if (names[setting] !== member) otherNames[setting] = member
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each row states the type of its setting
  const settings = values as Partial<Settings>
  const { maxOutputTokens, parallelToolCalls, stop = [], format, verbosity, ...sampling } = settings
  const fieldNames = { ...names, ...otherNames }
  return { fieldNames, parallelToolCalls, maxOutputTokens, sampling, stop, format, verbosity }
}

/** The members of a body that may change the answer and that a Turn cannot hold. */
export function lostMembers(body: JsonObject, { members, known, usual }: FieldTable): string[] {
  return Object.keys(body).filter((member) => {
    const value = body[member]
    return isStated(value) && !members.has(member) && !known.has(member) && usual.get(member)?.includes(value) !== true
  })
}

/** An empty stop text would end every answer at once. */
export function decodeStop(stop: unknown): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(stop) ? stop : [stop]
  return texts.filter(isFilled)
}

/** Clients write "none" as `null` or `[]`. */
export function isStated(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

/**
 * The members for the settings of a Turn, undefined for settings that it does not state. Settings that the dialect lacks get
 * a warning.
 * @param reason of those warnings
 */
export function encodeFields(
  turn: Turn,
  { fields, written }: FieldTable,
  reason: string,
  warnings: Warning[],
): JsonObject {
  const { sampling, stop, fieldNames } = turn
  const settings: JsonObject = { ...turn, ...sampling, stop: stop.length === 0 ? undefined : stop }
  for (const [setting, name] of Object.entries(fieldNames)) {
    const value = settings[setting]
    if (value === undefined || written.has(setting) || isUsual(setting, value)) continue
    warnings.push({ code: 'dropped', field: name, detail: reason })
  }
  const members: Record<string, unknown> = {}
  for (const { member, setting, to } of fields) {
    const value = settings[setting]
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the row names the setting whose type `to` takes
    members[member] = value === undefined || to === undefined ? value : to(value as never)
  }
  return members
}

/** Whether the answer is the same without the member. */
function isUsual(setting: string, value: unknown): boolean {
  switch (setting) {
    case 'frequencyPenalty':
    case 'presencePenalty':
      return value === 0
    case 'logitBias':
      return isObject(value) && Object.keys(value).length === 0
    case 'verbosity':
      return value === 'medium'
    case 'stop':
      // For an upstream without stop sequences, the proxy looks for them in the reply.
      return true
    default:
      return false
  }
}
