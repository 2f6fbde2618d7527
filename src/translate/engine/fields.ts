import { isObject, type JsonObject } from '../../json/json.ts'
import type { FieldNames, Sampling, Turn, TurnField } from '../turn.ts'
import type { Warning } from '../warning.ts'

/** The settings that one member of a body can state. */
type Settings = Sampling & Pick<Turn, 'maxOutputTokens' | 'stop' | 'format' | 'verbosity' | 'parallelToolCalls'>

/** A setting of a Turn, and the member of a body that states it. Rules decide which values a model takes. */
type Field = { readonly [Name in keyof Settings]-?: FieldOf<Name> }[keyof Settings]

interface FieldOf<Name extends keyof Settings> {
  readonly member: string
  readonly turn: Name
  /** From the wire; undefined if the value states nothing. Absent: the value stays, which the dialect's schema has checked. */
  readonly from?: (value: unknown) => Settings[Name] | undefined
  /** To the wire. Absent: the value stays. */
  readonly to?: (value: NonNullable<Settings[Name]>) => unknown
}

/** The settings of a dialect. */
export interface FieldTable {
  /** Members that are read and written, in the order in which they are written. */
  readonly fields: readonly Field[]
  /** Members that callers state and that are never written. Of two members for one setting, this one counts. */
  readonly read: readonly Field[]
  /** Paths of members that functions read and write, because one setting needs several. The last one names the setting. */
  readonly composed: readonly { readonly member: string; readonly turn: TurnField }[]
  /** All other members that are read, and members that change no answer. */
  readonly known: ReadonlySet<string>
  /** Values that ask for the default. */
  readonly usual: ReadonlyMap<string, readonly unknown[]>
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
export function decodeFields(body: JsonObject, { fields, read, composed }: FieldTable): DecodedFields {
  const names: [string, string][] = [...composed, ...read, ...fields].map(({ member, turn }) => [turn, member])
  const values: [string, unknown][] = []
  for (const { member, turn, from } of [...fields, ...read]) {
    const value = body[member] ?? undefined
    const setting = value === undefined || from === undefined ? value : from(value)
    if (setting === undefined) continue
    values.push([turn, setting])
    names.push([turn, member])
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each row states the type of its setting
  const settings = Object.fromEntries(values) as Partial<Settings>
  const { maxOutputTokens, parallelToolCalls, stop = [], format, verbosity, ...sampling } = settings
  const fieldNames = { ...turnFieldNames, ...Object.fromEntries(names) }
  return { fieldNames, parallelToolCalls, maxOutputTokens, sampling, stop, format, verbosity }
}

/** The members of a body that may change the answer and that a Turn cannot hold. */
export function lostMembers(body: JsonObject, { fields, read, composed, known, usual }: FieldTable): string[] {
  const carried = new Set([...fields, ...read, ...composed].map(({ member }) => member.split('.', 1)[0]))
  return Object.keys(body).filter((member) => {
    const value = body[member]
    return isStated(value) && !carried.has(member) && !known.has(member) && usual.get(member)?.includes(value) !== true
  })
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
  { fields, composed }: FieldTable,
  reason: string,
  warnings: Warning[],
): JsonObject {
  const { sampling, stop } = turn
  const settings: JsonObject = { ...turn, ...sampling, stop: stop.length === 0 ? undefined : stop }
  // For an upstream without stop sequences, the proxy looks for them in the reply.
  const carried = new Set<string>(['stop', ...[...fields, ...composed].map((row) => row.turn)])
  for (const [setting, name] of Object.entries(turn.fieldNames)) {
    const value = settings[setting]
    if (value === undefined || carried.has(setting) || isUsual(setting, value)) continue
    warnings.push({ code: 'dropped', field: name, detail: reason })
  }
  const members = fields.map(({ member, turn: setting, to }) => {
    const value = settings[setting]
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the row names the setting whose type `to` takes
    return [member, value === undefined || to === undefined ? value : to(value as never)]
  })
  return Object.fromEntries(members)
}

/** Whether a setting asks for what every model does without it. */
function isUsual(setting: string, value: unknown): boolean {
  switch (setting) {
    case 'frequencyPenalty':
    case 'presencePenalty':
      return value === 0
    case 'logitBias':
      return isObject(value) && Object.keys(value).length === 0
    case 'verbosity':
      return value === 'medium'
    default:
      return false
  }
}
