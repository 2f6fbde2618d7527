import { describe, expect, test } from 'vitest'
import { claudeCode } from './claude-code.ts'
import { chatgptWays } from './codex-ways.ts'
import { describeClient, openCase } from './scenarios.ts'
import type { Way } from './scenarios.ts'
import { generationsOf } from './upstream-view.ts'

const native: Way = {
  title: 'Messages, a budget for thinking',
  model: 'claude-sonnet-4.5',
  upstream: '/v1/messages',
  keepsThoughts: 'always',
  losses: [],
}

const adaptive: Way = { ...native, title: 'Messages, adaptive thinking', model: 'claude-sonnet-5' }

const chat: Way = {
  title: 'translated to Chat',
  model: 'gpt-5-mini',
  upstream: '/chat/completions',
  config: 'copilot: { upstream-dialect: chat }',
  keepsThoughts: 'never',
  losses: [],
}

const chatWithThoughts: Way = {
  title: 'translated to Chat with thoughts',
  model: 'gemini-3-pro-preview',
  upstream: '/chat/completions',
  keepsThoughts: 'calls',
  losses: [],
}

const responses: Way = {
  title: 'translated to Responses',
  model: 'gpt-5.3-codex',
  upstream: '/responses',
  keepsThoughts: 'always',
  losses: [],
}

const ways = [native, adaptive, chat, chatWithThoughts, responses]

describeClient(claudeCode, ways, {
  overflow: /^Prompt is too long/,
  unauthorized: /^Failed to authenticate\. API Error: 401 Invalid API key$/,
  rateLimited: /^API Error: Request rejected \(429\) · Sorry, you have exceeded your weekly rate limit\. /,
  broken: /^API Error: 500 internal server error\./i,
})

const codexFailures = {
  overflow: /^Prompt is too long/,
  unauthorized: /^Failed to authenticate\. API Error: 401 OpenAI refuses the ChatGPT login/,
  rateLimited: /^API Error: Request rejected \(429\) · The usage limit has been reached\. It resets in /,
  broken: /^API Error: 500 /i,
}

/** Every request of its has a limit of output, which this upstream does not take. */
const codexWays = chatgptWays.map((way): Way => Object.assign({}, way, { losses: ['dropped;max_tokens'] }))

describeClient(claudeCode, codexWays, codexFailures)

describe.each([...ways, ...codexWays])('Claude Code, $title ($model)', (way) => {
  test('prints the answer of a model that thinks, whenever it does', async () => {
    const { ask, received } = await openCase(claudeCode, way)
    const { exitCode, text } = await ask({ prompt: '[demo:reasoning] Hello there' })
    expect(text).toMatch(/You said: \[demo:reasoning\] Hello there$/)
    expect(exitCode).toBe(0)
    expect(received()).toHaveLength(1)
  })

  test('finds a tool that it held back, and runs it', async () => {
    const { ask, received } = await openCase(claudeCode, way)
    const search = await ask({ prompt: '[demo:tool ToolSearch {"query":"select:WebFetch"}]' })
    expect(search.exitCode).toBe(0)
    const call = '[demo:tool WebFetch {"url":"http://127.0.0.1:1/","prompt":"What is there?"}]'
    const fetched = await ask({ prompt: call, isResumed: true })
    // There is no network for it; that it tried is what counts.
    expect(fetched.text).toMatch(/^The tool answered: .*Unable to verify if domain 127\.0\.0\.1 is safe/)
    const [first, ...later] = received()
    expect(first?.tools).not.toContain('WebFetch')
    expect(later.map(({ tools }) => tools.includes('WebFetch'))).toEqual([true, true, true])
  })

  test('counts the tokens of its context', async () => {
    const { ask, proxy } = await openCase(claudeCode, way)
    const { exitCode, text } = await ask({ prompt: '/context' })
    expect(text).toMatch(/\| System tools \| [\d.]+k \|/)
    expect(exitCode).toBe(0)
    // The others are counted here: only Anthropic's own upstream counts.
    const isCounted = way.upstream === '/v1/messages'
    expect(proxy.demo.count('/v1/messages/count_tokens') > 10).toBe(isCounted)
  })
})

/** Only these of Copilot's models have no search of their own. */
describe.each([native, adaptive, chat, chatWithThoughts])(
  'Claude Code, $title ($model)',
  ({ model, upstream, config = '' }) => {
    test('searches the web, and shows the pages', async () => {
      const { ask, proxy } = await openCase(claudeCode, { ...native, model, config })
      await ask({ prompt: '[demo:tool ToolSearch {"query":"select:WebSearch"}]' })
      const call = '[demo:tool WebSearch {"query":"heron facts"}]'
      const { text, exitCode } = await ask({ prompt: call, isResumed: true })
      expect(text).toMatch(/^The tool answered: Web search results for query: "heron facts"/)
      const links = ['example.com', 'example.org'].map((host, at) => {
        return { title: ['Page one', 'Page two'][at], url: `https://${host}/heron-facts` }
      })
      expect(text).toContain(`Links: ${JSON.stringify(links)}`)
      expect(text).toContain('A first simulated page is about heron facts')
      expect(exitCode).toBe(0)
      const searches = generationsOf(proxy).filter(({ tools }) => String(tools) === 'web_search')
      expect(searches.map(({ route }) => route)).toEqual([upstream, upstream])
      const [search, ...others] = generationsOf(proxy).filter(({ route }) => route === '/responses')
      expect(others).toEqual([])
      expect(search?.model).toBe('gpt-5-mini')
      expect(proxy.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
    })
  },
)

test('Claude Code searches the web with a GPT model that can', async () => {
  const { ask, proxy } = await openCase(claudeCode, responses)
  await ask({ prompt: '[demo:tool ToolSearch {"query":"select:WebSearch"}]' })
  const { text } = await ask({ prompt: '[demo:tool WebSearch {"query":"heron facts"}]', isResumed: true })
  expect(text).toMatch(/^The tool answered: Web search results for query: "heron facts"/)
  expect(text).toMatch(/Links: \[\{"title":"Page one","url":"https:\/\/example\.com\//)
  expect(generationsOf(proxy).filter(({ text: body }) => body.includes('"type":"web_search"'))).toHaveLength(1)
})

describe('Claude Code', () => {
  test('says that a model is unknown', async () => {
    const { ask } = await openCase(claudeCode, { ...native, model: 'claude-nonsense-9' })
    const { exitCode, failure } = await ask({ prompt: 'Hello' })
    expect(failure).toMatch(/^There's an issue with the selected model \(claude-nonsense-9\)\./)
    expect(exitCode).toBe(1)
  })

  test('presents the key of the proxy', async () => {
    const guarded: Way = { ...native, config: 'server: { api-keys: [right-key] }' }
    const right = await openCase(claudeCode, guarded, 'right-key')
    expect((await right.ask({ prompt: 'Hello' })).text).toMatch(/^Hello from/)
    const wrong = await openCase(claudeCode, guarded, 'wrong-key')
    expect((await wrong.ask({ prompt: 'Hello' })).failure).toMatch(/^Failed to authenticate\. API Error: 401/)
    expect(wrong.proxy.demo.count('/v1/messages')).toBe(0)
  })
})
