import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { askClient } from './client.ts'
import type { Ask, Client, Printed } from './client.ts'
import { openPlace, pixel } from './place.ts'
import type { RunningClient } from './run-client.ts'
import { generationsOf } from './upstream-view.ts'
import type { Generation, UpstreamRoute } from './upstream-view.ts'

/** A way from a client to a model. */
export interface Way {
  readonly title: string
  readonly model: string
  readonly upstream: UpstreamRoute
  /** The login that a model of Codex is reached with; undefined for one of Copilot's. */
  readonly codexLogin?: 'stored' | 'api-key'
  /** Configuration of the proxy. */
  readonly config?: string
  /**
   * Which thoughts of the model come back to upstream. `calls`: those before calls of tools; others are signed when
   * the answer is over, which is too late for a Messages caller, and nothing brings them back to a Chat client.
   */
  readonly keepsThoughts: 'always' | 'calls' | 'never'
  /** Warnings of the proxy, code and field: all that this client asks for and this model cannot have. */
  readonly losses: readonly string[]
}

/** How a client shows a failure. */
export interface Failures {
  readonly overflow: RegExp
  readonly unauthorized: RegExp
  readonly rateLimited: RegExp
  readonly broken: RegExp
}

interface Case {
  readonly proxy: Proxy
  readonly start: (ask: Ask) => Promise<RunningClient>
  readonly ask: (ask: Ask) => Promise<Printed>
  readonly file: (name: string) => string
  /** What upstream has received; fails where the proxy lost or refused anything that is not known to be lost. */
  readonly received: () => readonly Generation[]
}

/** A proxy, a client pointed at it, and a place for it to work in. */
export async function openCase(client: Client, way: Way, key = 'not-a-key'): Promise<Case> {
  const { config: file = '', codexLogin } = way
  const proxy = await openProxy({ file, ...(codexLogin !== undefined && { codexLogin }) })
  const place = await openPlace()
  const settings = { url: proxy.url, model: way.model, isThinking: way.keepsThoughts !== 'never', key }
  return {
    proxy,
    start: (ask) => client.start(place, settings, ask),
    ask: (ask) => askClient(client, place, settings, ask),
    file: (name) => join(place.workspace, name),
    received: () => {
      expectNothingLost(proxy, way)
      const generations = generationsOf(proxy)
      expect(new Set(generations.map(({ route }) => route))).toEqual(new Set([way.upstream]))
      expect(new Set(generations.map(({ model }) => model))).toEqual(new Set([ownName(way)]))
      return generations
    },
  }
}

/** What upstream calls the model. */
function ownName({ model }: Way): string {
  return model.replace(/^codex\//, '')
}

function expectNothingLost({ log }: Proxy, { losses }: Way): void {
  expect(log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  const warnings = log.flatMap(({ fields }) => (fields['warnings'] ?? []) as readonly string[])
  const lost = new Set(warnings.map((warning) => warning.replace(/ \(.*$/, '')).filter(isLoss))
  expect([...lost].toSorted()).toEqual([...losses].toSorted())
}

/** What is adapted is sent in another spelling and means the same. */
function isLoss(warning: string): boolean {
  return !warning.startsWith('adapted;')
}

/** Most requests for one prompt that a client may make of a failure, its own retries included. */
const MOST_TRIES = 8

/** Every scenario, on every way. */
export function describeClient(client: Client, ways: readonly Way[], failures: Failures): void {
  describe.each(ways)(`${client.name}, $title ($model)`, (way) => {
    const { keepsThoughts } = way
    // A later request without the thoughts of this prompt's answer is refused.
    const thinking = keepsThoughts === 'never' ? '' : '[demo:replay]'
    const thoughtsKept = { always: 2, calls: 1, never: 0 }[keepsThoughts]

    test('prints the answer to a plain prompt', async () => {
      const { ask, received } = await openCase(client, way)
      const { exitCode, text } = await ask({ prompt: 'Hello there' })
      expect(text.trim()).toBe(`Hello from ${ownName(way)}, simulated by copilot-proxy --demo. You said: Hello there`)
      expect(exitCode).toBe(0)
      expect(received()).toHaveLength(1)
    })

    test('reads a file of its workspace for the model', async () => {
      const { ask, file, received } = await openCase(client, way)
      const { exitCode, text } = await ask({ prompt: thinking + client.callToRead(file('heron.txt')) })
      expect(text).toMatch(/^The tool answered: [^]*The first note is about a heron\./)
      expect(exitCode).toBe(0)
      const [first, second, ...more] = received()
      expect(more).toEqual([])
      expect(first?.calls).toEqual([])
      expect(second?.calls).toMatchObject([{ result: expect.stringContaining('The first note is about a heron.') }])
      expect(second?.thoughts).toEqual(keepsThoughts === 'never' ? [] : [expect.stringMatching(/./)])
    })

    test('runs two calls of one answer and gives each its own result back', async () => {
      const { ask, file, received } = await openCase(client, way)
      const calls = ['heron.txt', 'otter.txt'].map((name) => client.callToRead(file(name)))
      const { exitCode, text } = await ask({ prompt: calls.join('') })
      expect(text).toContain('about a heron.')
      expect(text).toContain('about an otter.')
      expect(exitCode).toBe(0)
      expect(received().at(-1)?.calls).toMatchObject([
        { arguments: expect.stringContaining('heron.txt'), result: expect.stringContaining('about a heron.') },
        { arguments: expect.stringContaining('otter.txt'), result: expect.stringContaining('about an otter.') },
      ])
    })

    test('shows the model an image', async () => {
      const { ask, file, received } = await openCase(client, way)
      const image = file('pixel.png')
      // Claude Code has no other way to attach one than to read it.
      const prompt = client.name === 'Claude Code' ? client.callToRead(image) : 'What is this?'
      const { exitCode, text } = await ask({ prompt, image })
      expect(text).toContain('image/png of 68 bytes')
      expect(exitCode).toBe(0)
      const last = received().at(-1)
      expect(last?.text).toContain(pixel)
      // Only Copilot needs this header for images.
      expect(last?.headers['copilot-vision-request']).toBe(way.codexLogin === undefined ? 'true' : undefined)
    })

    test('resumes a conversation, thoughts included where there are any', async () => {
      const { ask, file, received } = await openCase(client, way)
      const first = await ask({ prompt: thinking + client.callToRead(file('heron.txt')) })
      expect(first.text).toMatch(/about a heron/)
      const second = await ask({ prompt: 'And the second', isResumed: true })
      expect(second.text.trim()).toMatch(/You said: And the second$/)
      expect(second.exitCode).toBe(0)
      const last = received().at(2)
      expect(last?.text).toMatch(/about a heron.*The tool answered: .*about a heron.*And the second/)
      expect(last?.thoughts).toEqual(Array(thoughtsKept).fill(expect.stringMatching(/./)))
    })

    test('says that the conversation is too long', async () => {
      const { proxy, ask } = await openCase(client, way)
      const { exitCode, text, failure } = await ask({ prompt: '[demo:overflow]' })
      expect({ text, failure }).toEqual({ text: '', failure: expect.stringMatching(failures.overflow) })
      expect(exitCode).toBe(1)
      expect(generationsOf(proxy).length).toBeLessThanOrEqual(MOST_TRIES)
    })

    test.each([
      ['a 401', '[demo:error 401]', failures.unauthorized],
      ['a 429', '[demo:error 429 0]', failures.rateLimited],
      ['a 500', '[demo:error 500 0]', failures.broken],
    ])('shows %s of upstream as an error', async (_status, prompt, words) => {
      const { proxy, ask } = await openCase(client, way)
      const { exitCode, text, failure } = await ask({ prompt })
      expect({ text, failure }).toEqual({ text: '', failure: expect.stringMatching(words) })
      expect(exitCode).toBe(1)
      const tries = generationsOf(proxy).length
      expect(tries).toBeGreaterThan(0)
      expect(tries).toBeLessThanOrEqual(MOST_TRIES)
    })

    test('ends the request to upstream when it is killed', async () => {
      const { proxy, start } = await openCase(client, way)
      const { finished, kill } = await start({ prompt: '[demo:stall]' })
      const upstream = way.codexLogin === undefined ? proxy.demo : proxy.codex
      await upstream.until(() => upstream.openStreams() > 0)
      kill()
      await finished
      await upstream.until(() => upstream.openStreams() === 0)
      expect(upstream.aborted()).toBeGreaterThan(0)
    })
  })
}
