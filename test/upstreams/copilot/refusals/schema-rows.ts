import { Ajv2020 } from 'ajv/dist/2020.js'
import { isObject } from '../../../../src/json/json.ts'
import type { JsonObject } from '../../../../src/json/json.ts'
import { textReply } from '../../http/outcome.ts'
import { CHAT, isClaude, isGemini, isGpt, MESSAGES, RESPONSES } from './row.ts'
import type { RefusalRow, SentRequest } from './row.ts'
import { toolsIn } from './sent-parts.ts'
import type { SentTool } from './sent-parts.ts'
import { subschemas, typesOf } from './subschemas.ts'
import type { Subschema } from './subschemas.ts'

// Schemas of tools that a family refuses, at any depth.

/** Judges every tool; the first refusal counts. */
function eachTool(judge: (tool: SentTool) => string | undefined): (sent: SentRequest) => string | undefined {
  return (sent) => {
    for (const tool of toolsIn(sent)) {
      const words = judge(tool)
      if (words !== undefined) return words
    }
    return undefined
  }
}

/** Judges every schema in every tool. */
function eachSchema(judge: (subschema: Subschema, tool: SentTool) => string | undefined): RefusalRow['judge'] {
  return eachTool((tool) => {
    for (const subschema of subschemas(tool.schema)) {
      const words = judge(subschema, tool)
      if (words !== undefined) return words
    }
    return undefined
  })
}

function gptWords(name: string, reason: string): string {
  return `Invalid schema for function '${name}': ${reason}`
}

function contextOf(path: readonly string[]): string {
  return `(${path.map((each) => `'${each}'`).join(', ')})`
}

function claudeWords({ at }: SentTool, reason: string): string {
  return `tools.${at}.custom.input_schema: ${reason}`
}

function isArrayWithoutItems(schema: JsonObject): boolean {
  return typesOf(schema).includes('array') && schema['items'] === undefined && schema['prefixItems'] === undefined
}

/** Keywords that say what an object or a list holds. Beside `anyOf`, Gemini wants them in the branches. */
const BESIDE_ANY_OF = ['type', 'properties', 'required', 'items']

const ajv = new Ajv2020({ strict: false, validateFormats: false })

/** Whether a schema is valid in draft 2020-12. What other drafts call it does not matter. */
function isValidSchema(schema: JsonObject): boolean {
  const { $schema: _, ...rest } = schema
  return (
    ajv.validateSchema(rest) === true &&
    [...subschemas(rest)].every(({ schema: { $ref: ref } }) => leadsHome(rest, ref))
  )
}

/** Whether a reference leads to a place in the schema. References to elsewhere count as valid. */
function leadsHome(root: JsonObject, ref: unknown): boolean {
  if (typeof ref !== 'string' || !ref.startsWith('#/')) return true
  let place: unknown = root
  for (const step of ref.slice(2).split('/')) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    place = typeof place === 'object' && place !== null ? Reflect.get(place, key) : undefined
  }
  return place !== undefined
}

const GPT = { routes: [CHAT, RESPONSES], models: isGpt, scope: 'everywhere' } as const
const GEMINI = {
  routes: [CHAT, MESSAGES],
  models: isGemini,
  /** Neither the tool nor the place is named. */
  reply: () => textReply(400, 'Bad Request'),
} as const
const CLAUDE = { routes: [CHAT, MESSAGES], models: isClaude, scope: 'everywhere' } as const

const REPORTS_OF_GPT =
  'docker/mcp-gateway#275, anomalyco/opencode#8423, github/copilot-cli#2223, ericc-ch/copilot-api#192'
const REPORTS_OF_GEMINI = 'NousResearch/hermes-agent#30676, github/copilot-cli#4623, caozhiyuan/copilot-api#130'

export const schemaRows: readonly RefusalRow[] = [
  {
    ...GPT,
    id: 'P1 array without items',
    source: REPORTS_OF_GPT,
    judge: eachSchema(({ schema, path }, { name }) =>
      isArrayWithoutItems(schema) && !Array.isArray(schema['type'])
        ? gptWords(name, `In context=${contextOf(path)}, array schema missing items.`)
        : undefined,
    ),
  },
  {
    ...GPT,
    id: 'P1 array without items, as one of several types',
    // GitHub's CLI leaves it.
    scope: 'some hosts',
    source: REPORTS_OF_GPT,
    judge: eachSchema(({ schema, path }, { name }) =>
      isArrayWithoutItems(schema) && Array.isArray(schema['type'])
        ? gptWords(name, `In context=${contextOf(path)}, array schema missing items.`)
        : undefined,
    ),
  },
  {
    ...GPT,
    id: 'P1 no object with properties',
    source: `${REPORTS_OF_GPT}, github/copilot-cli#1825`,
    judge: eachTool(({ name, schema }) => {
      if (schema === undefined) return undefined
      if (!isObject(schema) || schema['type'] !== 'object') {
        const type = isObject(schema) ? JSON.stringify(schema['type'] ?? 'None') : '"None"'
        return gptWords(name, `schema must be a JSON Schema of 'type: "object"', got 'type: ${type}'.`)
      }
      return isObject(schema['properties'])
        ? undefined
        : gptWords(name, 'In context=(), object schema missing properties.')
    }),
  },
  {
    ...GPT,
    id: 'P24 alternatives at the root, GPT',
    source: 'microsoft/vscode#307515, nspady/google-calendar-mcp#39',
    judge: eachTool(({ name, schema }) =>
      isObject(schema) && ['oneOf', 'anyOf', 'allOf', 'enum', 'not'].some((keyword) => keyword in schema)
        ? gptWords(
            name,
            "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
          )
        : undefined,
    ),
  },
  {
    ...GEMINI,
    id: 'P2 enum of other values',
    // GitHub's CLI leaves numbers and booleans.
    scope: 'some hosts',
    source: `${REPORTS_OF_GEMINI}, NousResearch/hermes-agent#15082`,
    judge: eachSchema(({ schema }) =>
      Array.isArray(schema['enum']) && schema['enum'].some((value) => typeof value !== 'string') ? 'enum' : undefined,
    ),
  },
  {
    ...GEMINI,
    id: 'P2 enum on another type',
    scope: 'some hosts',
    source: `${REPORTS_OF_GEMINI}, github/copilot-cli#4835`,
    judge: eachSchema(({ schema }) =>
      schema['enum'] !== undefined && typesOf(schema).some((type) => type !== 'string') ? 'enum' : undefined,
    ),
  },
  {
    ...GEMINI,
    id: 'P2 enum on a list or an object',
    scope: 'everywhere',
    source: 'the CLI moves it since 1.0.100: official-clients, "Gemini"',
    judge: eachSchema(({ schema }) =>
      schema['enum'] !== undefined && typesOf(schema).some((type) => type === 'array' || type === 'object')
        ? 'enum'
        : undefined,
    ),
  },
  {
    ...GEMINI,
    id: 'P2 list of types',
    scope: 'everywhere',
    source: REPORTS_OF_GEMINI,
    judge: eachSchema(({ schema }) => (Array.isArray(schema['type']) ? 'type' : undefined)),
  },
  {
    ...GEMINI,
    id: 'P2 array without items',
    scope: 'everywhere',
    source: `${REPORTS_OF_GEMINI}, anomalyco/opencode#2687`,
    judge: eachSchema(({ schema }) => (isArrayWithoutItems(schema) ? 'items' : undefined)),
  },
  {
    ...GEMINI,
    id: 'P2 required without property',
    // GitHub's CLI leaves it.
    scope: 'some hosts',
    source: 'NousResearch/hermes-agent#30676',
    judge: eachSchema(({ schema: { required, properties } }) => {
      if (!Array.isArray(required) || !isObject(properties)) return undefined
      return required.some((name) => !Object.hasOwn(properties, String(name))) ? 'required' : undefined
    }),
  },
  {
    ...GEMINI,
    id: 'P2 keywords beside anyOf',
    scope: 'everywhere',
    source: 'the CLI moves them since 1.0.89: official-clients, "Gemini"',
    judge: eachSchema(({ schema }) =>
      schema['anyOf'] !== undefined && BESIDE_ANY_OF.some((keyword) => keyword in schema) ? 'anyOf' : undefined,
    ),
  },
  {
    ...GEMINI,
    id: 'P2 tool name',
    scope: 'everywhere',
    source: 'microsoft/vscode#328147',
    judge: eachTool(({ name }) => (/^[A-Za-z_]/.test(name) ? undefined : 'name')),
  },
  {
    ...CLAUDE,
    id: 'P24 alternatives at the root, Claude',
    source: 'anthropics/claude-code#35901, anthropics/claude-code#40075',
    judge: eachTool((tool) =>
      isObject(tool.schema) && ['oneOf', 'anyOf', 'allOf'].some((keyword) => keyword in Object(tool.schema))
        ? claudeWords(tool, 'input_schema does not support oneOf, allOf, or anyOf at the top level')
        : undefined,
    ),
  },
  {
    ...CLAUDE,
    id: 'P24 no JSON Schema',
    source: 'microsoft/vscode#264980, MarkusPfundstein/mcp-gsuite#47, zanetworker/mcp-docling#5',
    judge: eachTool((tool) =>
      isObject(tool.schema) && !isValidSchema(tool.schema)
        ? claudeWords(
            tool,
            'JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).',
          )
        : undefined,
    ),
  },
  {
    ...CLAUDE,
    id: 'P17 property names',
    // GitHub's CLI leaves such names.
    scope: 'some hosts',
    source: 'ComposioHQ/composio#3500, beautyfree/appstore-connect-mcp#1, twilio-labs/mcp#49',
    judge: eachSchema(({ schema: { properties } }, tool) =>
      isObject(properties) && Object.keys(properties).some((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
        ? `tools.${tool.at}.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`
        : undefined,
    ),
  },
]
