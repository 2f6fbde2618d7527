import { describe, expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { some } from '../thorough.ts'
import type { Proxy } from '../http/harness.ts'
import { ciphertextsIn } from './ciphertexts.ts'
import { openFor, promptsFor, promptsOf } from './client.ts'
import { codexKinds, codexRoutes, titleOf } from './kinds.ts'
import { aiSpeakers } from './speakers/ai-sdk.ts'
import { anthropicMessages } from './speakers/anthropic.ts'
import { openaiChat } from './speakers/openai-chat.ts'
import { openaiResponses } from './speakers/openai-responses.ts'

const speakers = [openaiChat, openaiResponses, anthropicMessages, ...aiSpeakers]

/**
 * Upstream's refusals. The proxy repeats some refused requests without the refused part, so a caller does not see them.
 */
function refusalsIn({ log }: Proxy): readonly unknown[] {
  const refusals = log.filter(({ level }) => level === 'warn' || level === 'error')
  expect(refusals.filter(({ message }) => message !== 'the provider refused the request')).toEqual([])
  return refusals.map(({ fields }) => fields['code'])
}

describe.each(some(codexKinds, 2).map((kind) => ({ kind, title: titleOf(kind) })))('$title', ({ kind }) => {
  test.each(speakers.filter(({ keepsThoughts }) => keepsThoughts))(
    '$name: gets its reasoning back unchanged, and no request is repeated',
    async (speaker) => {
      const proxy = await openFor(kind)
      for (const stream of [false, true]) {
        const before = promptsFor(proxy, kind).length
        const talk = speaker.open(proxy, { model: kind.model, stream, hasTools: true, thinks: true })
        expect(await talk.say({ text: '[demo:replay][demo:tools] go' })).toMatchObject({ end: 'calls' })
        await talk.answer(['first', 'second'])
        await talk.say({ text: '[demo:replay] and then' })
        await talk.say({ text: 'thanks' })
        const sent = promptsFor(proxy, kind)
          .slice(before)
          .map(({ body }) => ciphertextsIn(body, proxy).map(({ text }) => text))
        expect(sent.map(({ length }) => length)).toEqual([0, 1, 2, 3])
        // Each request contains the texts of the one before.
        for (const [at, texts] of sent.entries()) expect(texts).toEqual(sent.at(-1)?.slice(0, at))
      }
      expect(refusalsIn(proxy)).toEqual([])
    },
  )
})

/** Models on every upstream dialect of Copilot, with and without reasoning. */
const ofCopilot: readonly { readonly other: string; readonly refuses?: string }[] = [
  { other: 'gpt-5-mini' },
  { other: 'copilot/gpt-5.3-codex' },
  { other: 'claude-opus-4.7' },
  // The first refuses to reason. The second refuses calls of other models once, and then gets them as text.
  { other: 'gpt-4.1', refuses: 'invalid_reasoning_effort' },
  { other: 'gemini-3-pro-preview', refuses: 'invalid_request_body' },
]

const switches = codexKinds.flatMap((kind) =>
  ofCopilot.flatMap(({ other, refuses }) => [
    { kind, refuses, from: other, to: kind.model, title: `${other} to ${titleOf(kind)} and back` },
    { kind, refuses, from: kind.model, to: other, title: `${titleOf(kind)} to ${other} and back` },
  ]),
)

describe.each(speakers.map((speaker, at) => ({ name: speaker.name, speaker, at })))(
  'a session of $name',
  ({ speaker, at }) => {
    // A speaker streams both directions of every second pair. The next speaker streams the other pairs.
    const sessions = switches.map((each, index) => ({ each, title: each.title, stream: (at + (index >> 1)) % 2 === 0 }))
    test.each(some(sessions, 10, at))('goes on from $title', async ({ each: { kind, refuses, from, to }, stream }) => {
      const { codexLogin = 'stored' } = kind
      const proxy = await openProxy({ codexLogin })
      const talk = speaker.open(proxy, { model: from, stream, hasTools: true, thinks: true })
      expect(await talk.say({ text: '[demo:reasoning][demo:tools] go' })).toMatchObject({ end: 'calls' })
      talk.continueWith(to)
      // Gemini 3 accepts only its own calls, so it gets the calls of other models as text.
      expect((await talk.answer(['first', 'second'])).text).toContain('second')
      expect(await talk.say({ text: '[demo:reasoning][demo:tool] again' })).toMatchObject({ end: 'calls' })
      talk.continueWith(from)
      expect((await talk.answer(['third'])).text).toContain('third')
      talk.continueWith(to)
      expect(await talk.say({ text: '[demo:redacted] thanks' })).toMatchObject({ end: 'end' })
      talk.continueWith(from)
      expect(await talk.say({ text: 'bye' })).toMatchObject({ text: expect.stringContaining('You said: bye') })
      const route = codexRoutes[codexLogin]
      const toCodex = proxy.codex.log.filter((each) => each.route === route)
      const toCopilot = promptsOf(proxy.demo)
      expect(refusalsIn(proxy).filter((code) => code !== refuses)).toEqual([])
      expect(toCodex).toHaveLength(3)
      expect(makersIn(toCopilot, proxy)).not.toContain('codex')
      expect(makersIn(toCodex, proxy)).not.toContain('copilot')
      // When the session returns to the model, its own reasoning is still in the request.
      if (speaker.keepsThoughts) expect(makersIn(toCodex, proxy)).toContain('codex')
    })
  },
)

function makersIn(prompts: readonly { readonly body: string }[], proxy: Proxy): readonly string[] {
  return prompts.flatMap(({ body }) => ciphertextsIn(body, proxy).map(({ maker }) => maker))
}
