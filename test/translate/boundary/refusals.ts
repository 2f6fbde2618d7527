import type { UpstreamRefusal } from '../../../src/translate/dialect.ts'
import type { UpstreamId } from './models.ts'

/** A refusal by an upstream, and the requests that it answers. */
export interface RefusalCase {
  readonly name: string
  /** Of `modelsOf` the upstream. */
  readonly model: string
  readonly refusal: Omit<UpstreamRefusal, 'kind' | 'status'> & { readonly status?: number }
  /** Request fixtures, as `chat/settings`. */
  readonly of: readonly string[]
}

const each = (name: string): readonly string[] => ['chat', 'messages', 'responses'].map((caller) => `${caller}/${name}`)

const unsupported = (param: string): string => `Unsupported parameter: '${param}' is not supported with this model.`
const fullWindow = {
  code: 'model_max_prompt_tokens_exceeded',
  message: 'prompt token count of 200000 exceeds the limit of 128000',
}
const tooLarge = { status: 413, message: 'Request Entity Too Large' }
const schemaRefused = {
  code: 'invalid_request_body',
  message: "Invalid schema for function 'nested': In context=('properties', 'list'), array schema missing items.",
}
const imageTooWide =
  'messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels'

/**
 * The wordings of the refusals that are recovered from, one of each row and some more where a row reads several; then refusals that
 * the caller gets, among them some of sessions that are lost by that.
 */
export const refusalsOf: Readonly<Record<UpstreamId, readonly RefusalCase[]>> = {
  chat: [
    {
      name: 'reasoning-of-another-model',
      model: 'gemini-3-pro-preview',
      refusal: { message: 'Corrupted thought signature.' },
      of: [...each('reasoning'), ...each('sealed-reasoning')],
    },
    {
      name: 'calls-of-another-model',
      model: 'gemini-3-pro-preview',
      refusal: { message: 'Function call `f` is missing a `thought_signature` in functionCall parts.' },
      of: [...each('call-pairs'), 'chat/reasoning'],
    },
    {
      name: 'cache-marks',
      model: 'claude-sonnet-4.5',
      refusal: { message: "Unknown parameter: 'messages[0].copilot_cache_control'." },
      of: ['chat/cache-marks', 'messages/cache-marks'],
    },
    {
      name: 'name-of-the-token-limit',
      model: 'gpt-4.1',
      refusal: {
        code: 'unsupported_parameter',
        param: 'max_tokens',
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      },
      of: each('settings'),
    },
    {
      name: 'unknown-member',
      model: 'gpt-4.1',
      refusal: { message: 'Unrecognized request argument supplied: novelty' },
      of: ['chat/unknown-members'],
    },
    {
      name: 'unsupported-value',
      model: 'mai-2',
      refusal: {
        code: 'unsupported_value',
        param: 'temperature',
        message:
          "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
      },
      of: each('settings'),
    },
    {
      name: 'level-of-effort',
      model: 'gpt-5-mini',
      refusal: {
        code: 'invalid_reasoning_effort',
        message: 'reasoning_effort "high" was provided, but model gpt-5-mini does not support reasoning effort',
      },
      of: each('reasoning'),
    },
    { name: 'size', model: 'gpt-4.1', refusal: tooLarge, of: each('images-and-files') },
    {
      name: 'member-of-a-message',
      model: 'gpt-4.1',
      refusal: { code: 'unknown_parameter', message: "Unknown parameter: 'messages[1].reasoning_details'." },
      of: ['chat/unknown-members'],
    },
    {
      name: 'essential-member',
      model: 'gpt-4.1',
      refusal: { message: "Unknown parameter: 'messages'." },
      of: ['chat/settings'],
    },
    { name: 'stop', model: 'gpt-4.1', refusal: { message: unsupported('stop') }, of: each('settings') },
    { name: 'tool-schema', model: 'gpt-4.1', refusal: schemaRefused, of: each('tool-schemas') },
    { name: 'image', model: 'claude-sonnet-4.5', refusal: { message: imageTooWide }, of: each('images-and-files') },
    {
      name: 'changed-thinking',
      model: 'claude-sonnet-4.5',
      refusal: {
        message:
          'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
      },
      of: [...each('reasoning'), ...each('sealed-reasoning')],
    },
    {
      name: 'thinking-where-the-last-turn-has-none',
      model: 'claude-sonnet-4.5',
      refusal: {
        message: 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
      },
      of: each('reasoning'),
    },
    {
      name: 'image-not-of-a-model',
      model: 'gpt-4.1',
      refusal: { message: 'image media type not supported' },
      of: each('images-and-files'),
    },
    { name: 'full-window', model: 'gpt-4.1', refusal: fullWindow, of: each('settings') },
  ],
  messages: [
    {
      name: 'named-betas',
      model: 'claude-opus-4.8',
      refusal: { message: 'unsupported beta header(s): context-management-2025-06-27, other-2025-01-01' },
      of: ['messages/claude-code-tools', 'messages/context-editing'],
    },
    {
      name: 'some-beta',
      model: 'claude-opus-4.8',
      refusal: { message: 'invalid beta flag' },
      of: ['messages/claude-code-first', 'messages/tool-search'],
    },
    {
      name: 'unknown-member',
      model: 'claude-opus-4.8',
      refusal: {
        message: 'tools.0.custom.novelty: Extra inputs are not permitted, novelty: Extra inputs are not permitted',
      },
      of: ['messages/unknown-members'],
    },
    {
      name: 'member-of-thinking',
      model: 'claude-opus-4.8',
      refusal: { message: 'thinking.adaptive.display: Extra inputs are not permitted' },
      of: ['messages/effort-within', 'chat/reasoning', 'responses/reasoning'],
    },
    {
      name: 'system-messages',
      model: 'claude-opus-4.8',
      refusal: {
        message: 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter',
      },
      of: each('system-in-the-middle'),
    },
    {
      name: 'level-of-effort',
      model: 'claude-opus-5.1',
      refusal: { message: 'effort max is not supported by model claude-opus-5.1; supported values:[low medium high]' },
      of: ['messages/settings', 'chat/reasoning'],
    },
    {
      name: 'effort',
      model: 'claude-opus-4.8',
      refusal: { code: 'invalid_reasoning_effort', message: 'model claude-opus-4.8 does not support reasoning effort' },
      of: ['messages/settings', 'chat/reasoning', 'responses/reasoning'],
    },
    {
      name: 'thinking-by-budget',
      model: 'claude-opus-4.6',
      refusal: {
        message:
          '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort"',
      },
      of: ['messages/reasoning'],
    },
    {
      name: 'no-thinking',
      model: 'claude-opus-4.8',
      refusal: { message: '"thinking.type.disabled" is not supported for this model.' },
      of: ['messages/thinking-off'],
    },
    {
      name: 'adaptive-thinking',
      model: 'claude-opus-4.8',
      refusal: { message: 'adaptive thinking is not supported on this model' },
      of: each('reasoning'),
    },
    {
      name: 'signature',
      model: 'claude-sonnet-4.5',
      refusal: { message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
      of: [...each('reasoning'), ...each('sealed-reasoning')],
    },
    {
      name: 'thinking-where-the-last-turn-has-none',
      model: 'claude-sonnet-4.5',
      refusal: {
        message: 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`',
      },
      of: each('reasoning'),
    },
    {
      name: 'thinking-beside-a-forced-tool',
      model: 'claude-sonnet-4.5',
      refusal: { message: 'Thinking may not be enabled when tool_choice forces tool use.' },
      of: ['messages/reasoning', 'messages/choice-forced-while-thinking'],
    },
    {
      name: 'forced-tool',
      model: 'claude-opus-5.1',
      refusal: { message: 'tool_choice: type "tool" and "any" are not supported for this model' },
      of: ['messages/choice-forced-while-thinking'],
    },
    {
      name: 'thinking-binding',
      model: 'claude-opus-5.1',
      refusal: { message: 'thinking.adaptive.block_binding: Extra inputs are not permitted' },
      of: each('reasoning'),
    },
    {
      name: 'structured-outputs',
      model: 'claude-opus-4.8',
      refusal: {
        message:
          'FAILED_PRECONDITION: constraints/vertexai.allowedPartnerModelFeatures violated for feature structured_outputs',
      },
      of: each('settings'),
    },
    {
      name: 'tool-reference',
      model: 'claude-opus-4.8',
      refusal: {
        message: "messages.2.content.0.tool_result.content.0: Tool reference 'h' not found in available tools",
      },
      of: ['messages/tool-search'],
    },
    {
      name: 'server-tool-of-the-history',
      model: 'claude-opus-4.8',
      refusal: { message: "Tool 'tool_search_tool_bm25' not found in provided tools" },
      of: ['messages/tool-search'],
    },
    {
      name: 'server-tool',
      model: 'claude-opus-4.8',
      refusal: { message: 'The use of the image search tool is not supported.' },
      of: ['messages/unknown-tools'],
    },
    {
      name: 'type-of-a-tool',
      model: 'claude-opus-4.8',
      refusal: {
        message:
          "tools.1: Input tag 'bash_20990101' found using 'type' does not match any of the expected tags: 'custom'",
      },
      of: ['messages/unknown-tools'],
    },
    {
      name: 'type-of-a-block',
      model: 'claude-opus-4.8',
      refusal: {
        message:
          "messages.2.content.0: Input tag 'novel_block' found using 'type' does not match any of the expected tags",
      },
      of: ['messages/unknown-members'],
    },
    {
      name: 'context-edit',
      model: 'claude-opus-4.8',
      refusal: {
        message: "context_management.edits.0: Input tag 'clear_tool_uses_20250919' found using 'type' does not match",
      },
      of: ['messages/context-editing'],
    },
    {
      name: 'clearing-thoughts-without-thinking',
      model: 'claude-opus-4.8',
      refusal: { message: '`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive' },
      of: ['messages/context-editing'],
    },
    {
      name: 'token-limit',
      model: 'claude-opus-4.8',
      refusal: {
        message: 'max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4.8',
      },
      of: each('settings'),
    },
    {
      name: 'blank-text',
      model: 'claude-opus-4.8',
      refusal: { message: 'messages: text content blocks must contain non-whitespace text' },
      of: each('call-pairs'),
    },
    {
      name: 'sampling',
      model: 'claude-sonnet-4.5',
      refusal: { message: '`temperature` and `top_p` cannot both be specified for this model. Please use only one.' },
      of: each('settings'),
    },
    { name: 'size', model: 'claude-sonnet-4.5', refusal: tooLarge, of: each('images-and-files') },
    { name: 'image', model: 'claude-sonnet-4.5', refusal: { message: imageTooWide }, of: each('images-and-files') },
    {
      name: 'full-window',
      model: 'claude-sonnet-4.5',
      refusal: { message: 'prompt is too long: 220000 tokens > 200000 maximum' },
      of: each('settings'),
    },
  ],
  responses: [
    {
      name: 'unknown-ids',
      model: 'gpt-5.1-codex',
      refusal: { message: "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false." },
      of: ['responses/reasoning', 'responses/call-ids'],
    },
    {
      name: 'unknown-ids-unauthorized',
      model: 'gpt-5.1-codex',
      refusal: { status: 401, message: 'input item ID does not belong to this connection' },
      of: ['responses/reasoning'],
    },
    {
      name: 'unreadable-reasoning',
      model: 'gpt-5.1-codex',
      refusal: { code: 'invalid_request_body', message: 'Encrypted content could not be decrypted or parsed' },
      of: ['responses/reasoning', 'responses/codex-agents', ...each('sealed-reasoning')],
    },
    {
      name: 'model-without-reasoning',
      model: 'grok-4.5',
      refusal: { message: 'Encrypted content is not supported with this model.' },
      of: each('settings'),
    },
    {
      name: 'cache-breakpoints',
      model: 'gpt-5.6',
      refusal: { message: "Unknown parameter: 'input[0].content[0].prompt_cache_breakpoint'." },
      of: each('cache-marks'),
    },
    {
      name: 'unknown-member',
      model: 'gpt-5.1-codex',
      refusal: { message: "Unknown parameter: 'input[0].content[0].novelty'." },
      of: ['responses/unknown-members'],
    },
    {
      name: 'level-of-effort',
      model: 'gpt-5.1-codex',
      refusal: {
        message: "Unsupported value: 'low' is not supported. Supported values are: 'medium' and 'high'.",
        param: 'reasoning.effort',
      },
      of: each('reasoning'),
    },
    {
      name: 'namespaces',
      model: 'gpt-5.1-codex',
      refusal: {
        message: "Invalid value: 'namespace'. Supported values are: 'function' and 'custom'.",
        param: 'tools[0].type',
      },
      of: ['responses/codex-agents', 'responses/codex-tools'],
    },
    {
      name: 'custom-tools',
      model: 'gpt-5.1-codex',
      refusal: { message: 'Tools of type custom are not supported' },
      of: ['responses/codex-tools', 'chat/custom-tools'],
    },
    {
      name: 'web-search',
      model: 'gpt-5.1-codex',
      refusal: { message: 'The requested tool web_search is not supported' },
      of: ['responses/codex-tools', 'messages/server-tools'],
    },
    {
      name: 'unsupported-value',
      model: 'gpt-5.1-codex',
      refusal: {
        message: "Unsupported value: 'low' is not supported with the 'gpt-5.1-codex' model.",
        param: 'text.verbosity',
      },
      of: ['responses/settings', 'chat/settings'],
    },
    {
      name: 'named-member',
      model: 'grok-4.5',
      refusal: { code: 'unsupported_parameter', param: 'temperature', message: 'Not for this model.' },
      of: each('settings'),
    },
    {
      name: 'item',
      model: 'gpt-5.1-codex',
      refusal: { message: "Invalid 'input[1]'." },
      of: ['responses/reasoning'],
    },
    { name: 'size', model: 'gpt-5.1-codex', refusal: tooLarge, of: each('images-and-files') },
    {
      name: 'image',
      model: 'gpt-5.1-codex',
      refusal: { code: 'bad_request', message: 'The image data you provided does not represent a valid image.' },
      of: each('images-and-files'),
    },
    {
      name: 'image-detail',
      model: 'gpt-5.1-codex',
      refusal: { code: 'bad_request', message: 'image detail must be low or high' },
      of: each('images-and-files'),
    },
    {
      name: 'tool-schema',
      model: 'gpt-5.1-codex',
      refusal: schemaRefused,
      of: each('tool-schemas'),
    },
    { name: 'full-window', model: 'gpt-5.1-codex', refusal: fullWindow, of: each('settings') },
  ],
  chatgpt: [
    {
      name: 'usual-form',
      model: 'gpt-5.6-luna',
      refusal: { status: 404, message: 'Model not found gpt-5.6-luna' },
      of: [...each('settings'), 'responses/codex-first', 'responses/codex-tools'],
    },
    {
      name: 'form-by-a-member',
      model: 'gpt-5.6-luna',
      refusal: { message: "Missing required value: reasoning.context must be 'all_turns'" },
      of: each('reasoning'),
    },
    {
      name: 'unknown-member',
      model: 'gpt-5.6-luna',
      refusal: { message: 'Unsupported parameter: prompt_cache_key' },
      of: each('settings'),
    },
  ],
}
