import { responsesDialect } from '../../../../src/translate/responses/dialect.ts'
import { describe, expect, test } from 'vitest'
import { formatWarning } from '../../../../src/translate/warning.ts'
import { encodeContext, traits, turn } from '../../turns.ts'

type Json = Readonly<Record<string, unknown>>

const openai = traits('gpt-6-sol', { provider: 'codex', vendor: 'OpenAI' })
const copilot = traits('gpt-6-sol', { provider: 'copilot', vendor: 'OpenAI' })

function pass(body: Json, model = openai) {
  const request = responsesDialect.decodeRequest(JSON.stringify({ model: 'm', input: 'hi', ...body }))
  const passed = responsesDialect.upstream.passRequest(request, encodeContext(model))
  const sent: Json = JSON.parse(passed?.body.toString() ?? '')
  return { sent, warnings: passed?.warnings.map(formatWarning), headers: passed?.headers }
}

describe('with an API key', () => {
  test.each<[string, unknown]>([
    ['service_tier', 'priority'],
    ['safety_identifier', 's'],
    ['prompt_cache_retention', '24h'],
    ['prompt_cache_key', 'k'],
    ['max_output_tokens', 500],
    ['max_tool_calls', 3],
    ['metadata', { a: 'b' }],
    ['truncation', 'auto'],
    ['context_management', [{ type: 'compaction', compact_threshold: 1000 }]],
    ['moderation', { model: 'omni-moderation-latest' }],
    ['top_logprobs', 2],
    ['tools', [{ type: 'image_generation' }]],
    ['tools', [{ type: 'file_search', vector_store_ids: ['vs_1'] }]],
    ['reasoning', { effort: 'none' }],
    ['reasoning', { effort: 'minimal' }],
    ['reasoning', { effort: 'low', summary: 'auto' }],
    ['something_new', 1],
  ])('%s reaches OpenAI as it is', (member, value) => {
    const { sent, warnings, headers } = pass({ [member]: value })
    expect(sent[member]).toEqual(value)
    expect(warnings).toEqual([])
    expect(headers).toBeUndefined()
  })

  test('nothing is stored, and reasoning comes in a form that can be handed back', () => {
    expect(pass({ store: true }).sent).toMatchObject({
      input: 'hi',
      store: false,
      stream: true,
      include: ['reasoning.encrypted_content'],
    })
  })

  test('an effort that only Codex CLI knows is sent as the one it means', () => {
    expect(pass({ reasoning: { effort: 'ultra' } })).toMatchObject({
      sent: { reasoning: { effort: 'max' } },
      warnings: ['adapted;reasoning.effort'],
    })
  })

  test('a minimal effort of another dialect stays one', () => {
    const items = [
      { type: 'message', role: 'user', parts: [{ type: 'text', text: 'hi' }], path: 'messages.0' },
    ] as const
    const asked = turn({ items, reasoning: { effort: 'minimal', summary: 'none' } })
    const effortFor = (model: typeof openai) => {
      const sent: Json = JSON.parse(responsesDialect.upstream.encodeTurn(asked, encodeContext(model)).body.toString())
      return sent['reasoning']
    }
    expect(effortFor(openai)).toEqual({ effort: 'minimal' })
    expect(effortFor(copilot)).toEqual({ effort: 'low' })
  })

  test.each<[string, unknown, readonly string[]]>([
    ['service_tier', 'priority', ['dropped;service_tier']],
    ['safety_identifier', 's', []],
    ['tools', [{ type: 'image_generation' }], ['dropped;tools.0']],
  ])('%s does not reach Copilot, which refuses it', (member, value, warned) => {
    const { sent, warnings } = pass({ [member]: value }, copilot)
    expect(sent[member] ?? []).toEqual([])
    expect(warnings).toEqual(warned)
  })
})
