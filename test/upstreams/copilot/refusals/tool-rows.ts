import { isObject, objectsOf, textOf } from '../../../../src/json/json.ts'
import { schemaFailure } from '../failures.ts'
import { limitsOf } from '../models.ts'
import { emptyString, missing } from '../responses/refusals.ts'
import { CHAT, isAny, isClaude, isGemini, isGpt, MESSAGES, RESPONSES, withCode } from './row.ts'
import type { RefusalRow, SentRequest } from './row.ts'
import { callsIn, entriesIn, toolsIn } from './sent-parts.ts'
import { subschemas } from './subschemas.ts'

// Tools, their names and the choice among them.

const MOST_TOOLS = 128
const LONGEST_ON_BEDROCK = 64

/** Lists in which namespaces may stand, with their paths. */
function toolLists(sent: SentRequest) {
  return [
    { path: 'tools', tools: objectsOf(sent.body['tools']) },
    ...entriesIn(sent).map((item, at) => ({ path: `input[${at}].tools`, tools: objectsOf(item['tools']) })),
  ]
}

const NAMESPACES = {
  routes: [RESPONSES],
  models: isAny,
  scope: 'everywhere',
  source: 'caozhiyuan/copilot-api#345, openai/codex#37422, maximhq/bifrost#6047',
} as const

/** The path of the first description of a namespace that fails. */
function undescribed(sent: SentRequest, fails: (description: unknown) => boolean): string | undefined {
  for (const { path, tools } of toolLists(sent)) {
    const at = tools.findIndex(({ type, description }) => type === 'namespace' && fails(description))
    if (at >= 0) return `${path}[${at}].description`
  }
  return undefined
}

function namesOnMessages(sent: SentRequest): readonly string[] {
  const { tool_choice: choice } = sent.body
  const chosen = isObject(choice) ? [textOf(choice['name'])] : []
  return [...toolsIn(sent).map(({ name }) => name), ...callsIn(sent).map(({ name }) => name), ...chosen]
}

export const toolRows: readonly RefusalRow[] = [
  {
    ...NAMESPACES,
    id: 'P3 empty description',
    judge: (sent) => undescribed(sent, (description) => description === ''),
    reply: emptyString,
  },
  {
    ...NAMESPACES,
    id: 'P3 no description',
    judge: (sent) => undescribed(sent, (description) => typeof description !== 'string'),
    reply: missing,
  },
  {
    id: 'P8 encrypted parameter',
    routes: [RESPONSES],
    models: isAny,
    scope: 'some hosts',
    source: 'openai/codex#34833, openai/codex#37237',
    judge: (sent) => {
      const tool = toolsIn(sent).find(({ schema }) =>
        [...subschemas(schema)].some(({ schema: { encrypted } }) => encrypted !== undefined),
      )
      return tool && `Invalid schema for function '${tool.name}': encrypted parameters are not supported.`
    },
  },
  {
    id: 'P8 plain text as ciphertext',
    routes: [RESPONSES],
    models: isAny,
    scope: 'everywhere',
    source: 'openai/codex#36957, decolua/9router#1758',
    judge: (sent) => {
      const parts = entriesIn(sent).flatMap(({ content }) => objectsOf(content))
      const isPlain = parts.some(
        ({ type, encrypted_content: text }) => type === 'encrypted_content' && !textOf(text).startsWith('gAAAA'),
      )
      return isPlain ? 'Encrypted content could not be decrypted or parsed.' : undefined
    },
    reply: withCode('invalid_encrypted_content'),
  },
  {
    id: 'P9 validated',
    routes: [CHAT],
    models: (model) => !isGemini(model),
    scope: 'everywhere',
    source: 'the CLI sends it to Gemini only: official-clients, "tool_choice"',
    judge: ({ body }) =>
      body['tool_choice'] === 'validated' ? "value must be one of 'none', 'auto', 'required'" : undefined,
    reply: (words) => schemaFailure(words, '/properties/tool_choice'),
  },
  {
    id: 'P25 long tool name',
    routes: [MESSAGES],
    models: isClaude,
    // Bedrock's. Other hosts take 128 characters.
    scope: 'some hosts',
    source: 'openai/codex#46188, NousResearch/hermes-agent#54863, awslabs/mcp#3181',
    judge: (sent) => {
      const at = namesOnMessages(sent).findIndex((name) => name.length > LONGEST_ON_BEDROCK)
      return at < 0
        ? undefined
        : `1 validation error detected: Value at 'toolConfig.tools.${at}.member.toolSpec.name' failed to satisfy constraint: Member must have length less than or equal to ${LONGEST_ON_BEDROCK}`
    },
  },
  {
    id: 'P26 more than 128 tools',
    routes: [CHAT],
    // The CLI sends 142 to Gemini and MAI on chat, and to GPT on Responses.
    models: (model) => isClaude(model) || (isGpt(model) && limitsOf(model).mostTools === MOST_TOOLS),
    scope: 'everywhere',
    source: 'anomalyco/opencode#1814, microsoft/copilot-intellij-feedback#1842',
    judge: (sent) => {
      const count = toolsIn(sent).length
      return count > MOST_TOOLS ? `maxItems: got ${count}, want ${MOST_TOOLS}` : undefined
    },
    reply: (words) => schemaFailure(words, '/properties/tools'),
  },
  {
    id: 'forced choice',
    routes: [MESSAGES],
    models: (model) => !limitsOf(model).takesForcedChoice,
    scope: 'everywhere',
    source: 'anthropics/claude-cookbooks#854, langchain-ai/langchain-aws#1274',
    judge: ({ body: { tool_choice: choice } }) =>
      isObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool')
        ? 'tool_choice: type "tool" and "any" are not supported for this model'
        : undefined,
  },
]
