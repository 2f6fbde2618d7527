import type { JsonObject } from '../../../json/json.ts'
import { nameProperties } from '../tool-codec/property-names.ts'
import { createCopyBudget } from './branches.ts'
import { fitForMessages } from './claude.ts'
import { fitCommon } from './common.ts'
import { fitForGemini } from './gemini.ts'
import type { SchemaNotes } from './keywords.ts'
import { withoutDanglingReferences } from './references.ts'

/** What the upstream of a tool's parameters needs beyond the common rules. */
export interface SchemaTarget {
  /** The model is a Gemini, on any route. */
  readonly gemini: boolean
  /** The model is a Claude, on any route. */
  readonly claude?: boolean
  /** The route is `/v1/messages`. */
  readonly messages: boolean
}

export interface FittedSchema {
  /** The same object as the parameters if nothing had to change. */
  readonly schema: JsonObject
  /** Keywords that are now in a description. */
  readonly described: readonly string[]
  /** Keywords that constrained calls and are gone. */
  readonly lost: readonly string[]
  /** The caller's names of renamed properties, by the new ones. */
  readonly properties: ReadonlyMap<string, string>
}

/**
 * Fits the parameters of a tool to what a model's upstream accepts, as GitHub's own CLI does (docs/copilot-wire.md, "Tool
 * schemas"). Never changes its input, and returns its own results unchanged. Takes linear time; what only a hostile schema
 * has (600 levels, copies of copies) is cut or described.
 */
export function fitSchema(parameters: unknown, target: SchemaTarget): FittedSchema {
  const notes: SchemaNotes = { described: new Set(), lost: new Set(), hasReference: false }
  let schema = fitCommon(parameters, notes)
  if (target.gemini) schema = fitForGemini(schema, notes, createCopyBudget())
  if (target.messages) schema = fitForMessages(schema, notes)
  const properties = new Map<string, string>()
  if (target.claude === true) schema = nameProperties(schema, properties)
  if (notes.hasReference) schema = withoutDanglingReferences(schema, notes)
  return { schema, described: [...notes.described], lost: [...notes.lost], properties }
}
