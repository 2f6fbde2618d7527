import { describe, expect, test } from 'vitest'
import type { Proxy } from '../http/harness.ts'
import { openFor, promptsFor } from './client.ts'
import { codexRoutes, ownName, pixel, titleOf, upstreamRoutes } from './kinds.ts'
import type { ModelKind } from './kinds.ts'
import type { Said, Speaker } from './speakers/speaker.ts'

/** Removes call ids, which are numbered by request. */
function comparable(said: Said) {
  return { ...said, calls: said.calls.map(({ name, input }) => ({ name, input })) }
}

function expectOnlyRoute(proxy: Proxy, kind: ModelKind, { dialect }: Speaker): void {
  const { codexLogin, upstream } = kind
  const route = codexLogin === undefined ? upstreamRoutes[upstream[dialect]] : codexRoutes[codexLogin]
  expect(new Set(promptsFor(proxy, kind).map((prompt) => prompt.route))).toEqual(new Set([route]))
}

/** Tests that every client has to pass with every model. */
export function judge(speaker: Speaker, kind: ModelKind): void {
  const { model } = kind
  const thinks = speaker.keepsThoughts && kind.thinks.includes(kind.upstream[speaker.dialect])

  describe(`${speaker.name} with ${titleOf(kind)}`, () => {
    test('plain text, over the upstream dialect that the model has', async () => {
      const proxy = await openFor(kind)
      for (const stream of [false, true]) {
        const said = await speaker.open(proxy, { model, stream }).say({ text: 'Hello' })
        expect(said).toEqual({
          text: `Hello from ${ownName(kind)}, simulated by copilot-proxy --demo. You said: Hello`,
          thinking: '',
          calls: [],
          end: 'end',
          inputTokens: expect.any(Number),
          outputTokens: expect.any(Number),
        })
        expect(said.inputTokens).toBeGreaterThan(0)
        expect(said.outputTokens).toBeGreaterThan(5)
      }
      expectOnlyRoute(proxy, kind, speaker)
    })

    test('a stream and a plain answer have the same content', async () => {
      const proxy = await openFor(kind)
      const prompts = [
        ['[demo:reasoning][demo:long 20] Hello', 'end'],
        ['[demo:tool read_file {"path":"a b/ü","limits":{"lines":3}}] go', 'calls'],
        ['[demo:reasoning][demo:tools] go', 'calls'],
        ['[demo:length] one two three four five six', 'length'],
        ['[demo:filter] one two three four five six', 'filter'],
        // Some clients report a refusal as a content filter, others as a normal end.
        ['[demo:refusal] no', undefined],
      ] as const
      for (const [text, end] of prompts) {
        const [plain, streamed] = await Promise.all(
          [false, true].map((stream) =>
            speaker.open(proxy, { model, stream, hasTools: true, thinks: true }).say({ text }),
          ),
        )
        if (plain === undefined || streamed === undefined) throw new Error('nothing was said')
        expect(comparable(streamed), text).toEqual(comparable(plain))
        if (end !== undefined) expect(plain.end, text).toBe(end)
        if (thinks && text.includes('reasoning'))
          expect(plain.thinking, text).toContain('The user wants to see thinking.')
      }
    })

    test('one call, with the arguments that the model wrote, and its result', async () => {
      const proxy = await openFor(kind)
      for (const stream of [false, true]) {
        const talk = speaker.open(proxy, { model, stream, hasTools: true })
        const input = { path: 'a "quoted" \\ path/ü€😀', limits: { lines: 3 } }
        const said = await talk.say({ text: `[demo:tool read_file ${JSON.stringify(input)}] go` })
        expect(said).toMatchObject({ calls: [{ name: 'read_file', input }], end: 'calls' })
        expect(await talk.answer(['line one\nline two'])).toMatchObject({
          text: 'The tool answered: line one\nline two',
          calls: [],
          end: 'end',
        })
      }
    })

    test('parallel calls, and their results in order', async () => {
      const proxy = await openFor(kind)
      for (const stream of [false, true]) {
        const talk = speaker.open(proxy, { model, stream, hasTools: true })
        const said = await talk.say({ text: '[demo:tools] go' })
        expect(said).toMatchObject({
          calls: [
            { name: 'read_file', input: { path: expect.any(String) } },
            { name: 'list_folder', input: { folder: expect.any(String) } },
          ],
          end: 'calls',
        })
        expect(new Set(said.calls.map(({ id }) => id)).size).toBe(2)
        expect(await talk.answer(['first', 'second'])).toMatchObject({ text: 'The tool answered: first\nsecond' })
        expect(await talk.say({ text: 'thanks' })).toMatchObject({ text: expect.stringContaining('You said: thanks') })
      }
    })

    test('a conversation with reasoning can continue', async () => {
      const proxy = await openFor(kind)
      // `replay`: upstream refuses later requests without the reasoning.
      const asked = thinks ? '[demo:replay]' : '[demo:reasoning]'
      for (const [stream, marker] of [
        [false, asked],
        [true, asked],
        [true, `[demo:redacted]${asked}`],
      ] as const) {
        const talk = speaker.open(proxy, { model, stream, hasTools: true, thinks: true })
        const said = await talk.say({ text: `${marker}[demo:tool] go` })
        expect(said.calls).toHaveLength(1)
        if (thinks && marker === asked) expect(said.thinking).toContain('The user wants to see thinking.')
        expect(await talk.answer(['done'])).toMatchObject({ text: 'The tool answered: done' })
        expect(await talk.say({ text: 'thanks' })).toMatchObject({ text: expect.stringContaining('You said: thanks') })
      }
    })

    test('an image', async () => {
      const proxy = await openFor(kind)
      const said = await speaker.open(proxy, { model, stream: true }).say({ text: 'What is it?', image: pixel })
      expect(said.text).toContain('I see an image, image/png of 68 bytes. You said: What is it?')
      const sent = promptsFor(proxy, kind).at(-1)
      expect(sent?.body).toContain(pixel)
      // Only Copilot gets these headers.
      const isCopilot = kind.codexLogin === undefined
      expect(sent?.headers['copilot-vision-request']).toBe(isCopilot ? 'true' : undefined)
    })
  })
}
