import { z } from 'zod'
import { visible } from '../../terminal/visible.ts'
import { daemonHeaders } from '../shared/find-daemon.ts'
import type { DaemonAddress } from '../shared/find-daemon.ts'
import type { CommandContext } from '../shared/command.ts'

/** Longer than a model thinks about one word. Ms. */
const answerTimeoutMs = 120_000

const question = 'Reply with one word: ready'

type Trial =
  | { readonly ok: true; readonly model: string; readonly text: string; readonly tookMs: number }
  | { readonly ok: false; readonly problem: string }

interface TrialRequest {
  readonly path: string
  readonly body: (model: string) => object
  /** Extracts model and text from the reply. */
  readonly reply: z.ZodType<{ readonly model: string; readonly text: string }>
}

const messages = [{ role: 'user', content: question }]

/** The shortest request of each API, with room for thinking. */
const trials: Readonly<Record<'chat' | 'responses' | 'messages', TrialRequest>> = {
  chat: {
    path: '/v1/chat/completions',
    body: (model) => ({ model, messages }),
    reply: z
      .looseObject({
        model: z.string(),
        choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string().nullish() }) })),
      })
      .transform(({ model, choices }) => ({ model, text: choices[0]?.message.content ?? '' })),
  },
  responses: {
    path: '/v1/responses',
    body: (model) => ({ model, input: question, store: false }),
    reply: z
      .looseObject({
        model: z.string(),
        output: z.array(z.looseObject({ content: z.array(z.looseObject({ text: z.string().optional() })).nullish() })),
      })
      .transform(({ model, output }) => ({
        model,
        text: output.flatMap(({ content }) => (content ?? []).map(({ text }) => text ?? '')).join(''),
      })),
  },
  messages: {
    path: '/v1/messages',
    body: (model) => ({ model, max_tokens: 1024, messages }),
    reply: z
      .looseObject({ model: z.string(), content: z.array(z.looseObject({ text: z.string().optional() })) })
      .transform(({ model, content }) => ({ model, text: content.map(({ text }) => text ?? '').join('') })),
  },
}

const errorReply = z.looseObject({ error: z.looseObject({ message: z.string() }) })

/** Sends one request through the proxy, in the client's API. @throws the signal's reason */
export async function tryModel(
  context: CommandContext,
  { url, key }: DaemonAddress,
  dialect: keyof typeof trials,
  model: string,
): Promise<Trial> {
  const { path, body, reply } = trials[dialect]
  const startedAt = context.now()
  try {
    const response = await context.fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...daemonHeaders(context, key) },
      body: JSON.stringify(body(model)),
      redirect: 'error',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(answerTimeoutMs)]),
    })
    const answer: unknown = await response.json()
    const read = reply.safeParse(answer)
    if (response.ok && read.success) return { ok: true, ...read.data, tookMs: context.now() - startedAt }
    const message = errorReply.safeParse(answer).data?.error.message ?? 'The answer has an unknown format.'
    return { ok: false, problem: `Status ${response.status}: ${visible(message)}` }
  } catch (error) {
    context.signal.throwIfAborted()
    return { ok: false, problem: error instanceof Error ? visible(error.message) : 'No answer.' }
  }
}
