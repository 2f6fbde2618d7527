import type { Answer } from './answer.ts'
import type { HabitSeed } from './habits/habit.ts'
import { outputTokens } from './habits/habit.ts'
import type { DemoModel } from './models.ts'
import { jsonReply } from './outcome.ts'
import type { HeaderMap, Outcome } from './outcome.ts'
import { copilotUsage } from './usage.ts'

/**
 * The answer to a request without `stream: true`. As reported of the real service, GPT answers (without `object`),
 * Claude and Gemini silently return nothing, which is why a proxy always streams (docs/copilot-wire.md, "Chat stream").
 */
export function wholeReply(answer: Answer, seed: HabitSeed, model: DemoModel, headers: HeaderMap): Outcome {
  const base = { id: `chatcmpl-demo-${seed.number}`, created: seed.createdSeconds, model: `${seed.model}-demo` }
  if (model.habit !== 'gpt-4' && model.habit !== 'gpt-5') return jsonReply(200, { ...base, choices: [] }, headers)
  const completion = outputTokens(answer)
  return jsonReply(
    200,
    {
      ...base,
      choices: [
        {
          index: 0,
          finish_reason: answer.finish,
          message: {
            role: 'assistant',
            content: answer.calls.length > 0 ? null : answer.text.join(''),
            refusal: answer.refusal.length > 0 ? answer.refusal.join('') : null,
            ...(answer.calls.length > 0 && {
              tool_calls: answer.calls.map(({ id, name, arguments: text }) => ({
                id,
                type: 'function',
                function: { name, arguments: text },
              })),
            }),
          },
        },
      ],
      usage: {
        prompt_tokens: seed.promptTokens,
        completion_tokens: completion,
        total_tokens: seed.promptTokens + completion,
      },
      ...copilotUsage(seed.prices, { input: seed.promptTokens, output: completion }),
    },
    headers,
  )
}
