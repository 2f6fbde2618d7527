import { isBlank } from '../content.ts'
import { type DropRow, dropRule } from '../../engine/drop-rule.ts'
import type { MessagesRequest } from '../wire.ts'
import type { Rule } from './rule.ts'
import type { Target } from './target.ts'

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/**
 * Top-level members of Anthropic's API that Copilot refuses. `decodeMessagesRequest` has already refused `thread`.
 * Unknown members pass until upstream refuses them.
 */
const refusedFields: readonly DropRow<MessagesRequest, Target>[] = [
  { member: 'inference_geo', source: 'messages, unknown fields' },
  {
    member: 'service_tier',
    source: 'messages, unknown fields',
    idle: (tier) => tier === 'auto' || tier === 'standard_only',
  },
  { member: 'speed', source: 'messages, unknown fields', idle: (speed) => speed === 'standard' },
  { member: 'container', source: 'messages, unknown fields', refusal: 'containers are not available through Copilot' },
  {
    member: 'mcp_servers',
    source: 'messages, unknown fields',
    idle: isEmptyList,
    refusal: 'remote MCP servers are not available through Copilot',
  },
  { member: 'diagnostics', source: 'messages, unknown fields' },
  { member: 'fallbacks', source: 'messages, unknown fields', idle: isEmptyList },
  { member: 'billing_policy', source: 'messages, unknown fields' },
  { member: 'compaction', source: 'messages, unknown fields' },
  // The proxy makes this check (safeguards.ts). The member holds paths of the user's machine, and its beta is not forwarded.
  { member: 'safeguards', source: 'messages, unknown fields', idle: () => true },
  // Clients of Bedrock and Vertex send these headers in the body.
  { member: 'anthropic_version', source: 'messages, betas', idle: () => true },
  { member: 'anthropic_beta', source: 'messages, betas', idle: () => true },
]

export const fieldRules: readonly Rule[] = [
  {
    name: 'null left out',
    source: 'Anthropic API reference, Messages, 2026-11: null is the default; messages, unknown fields',
    adapt: ({ body }) => {
      const empty = Object.keys(body).filter((key) => body[key] === null)
      if (empty.length === 0) return undefined
      return { patch: Object.fromEntries(empty.map((key) => [key, undefined])), warnings: [] }
    },
  },
  ...refusedFields.map((row) => dropRule(row, { reason: 'not supported by Copilot', code: 'unsupported_value' })),
  {
    name: 'blank stop sequences looked for by the proxy',
    source: 'Anthropic API reference, stop_sequences, 2026-11: upstream refuses them',
    adapt: ({ body }) => {
      const { stop_sequences: stop } = body
      const kept = stop?.filter((text) => !isBlank(text))
      if (kept === undefined || kept.length === stop?.length) return undefined
      const detail = 'Claude does not accept blank stop sequences; the answer ends before them'
      const blank = stop?.filter((text) => text !== '' && isBlank(text)) ?? []
      return {
        patch: { stop_sequences: kept.length === 0 ? undefined : kept },
        warnings: [{ code: 'emulated', field: 'stop_sequences', detail }],
        effects: { stop: blank },
      }
    },
  },
  {
    name: 'output_format as output_config.format',
    source: 'Anthropic API reference, structured outputs, 2026-11: the older spelling needs a beta',
    adapt: ({ body }) => {
      const { output_format: format, output_config: config } = body
      if (format === undefined) return undefined
      return {
        patch: { output_format: undefined, output_config: { format, ...config } },
        warnings: [{ code: 'adapted', field: 'output_format', detail: 'sent as output_config.format' }],
      }
    },
  },
]
