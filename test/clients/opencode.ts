import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { jsonLines } from './client.ts'
import type { Client, Settings } from './client.ts'
import { baseEnvironment, programOf } from './place.ts'
import { startClient } from './run-client.ts'

/** What `opencode run --format json` prints of an answer and of a failure. */
const event = z.union([
  z.looseObject({ type: z.literal('text'), part: z.looseObject({ text: z.string() }) }),
  z.looseObject({
    type: z.literal('error'),
    error: z.looseObject({ name: z.string(), data: z.looseObject({ message: z.string() }) }),
  }),
])

/** opencode speaks the API that the provider's package speaks; it brings all three packages along. */
export function opencode(npm: '@ai-sdk/openai-compatible' | '@ai-sdk/openai' | '@ai-sdk/anthropic'): Client {
  return {
    name: `opencode, ${npm}`,
    callToRead: (file) => `[demo:tool read ${JSON.stringify({ filePath: file })}]`,
    start: async (place, settings, { prompt, isResumed = false, image }) => {
      await writeFile(join(place.workspace, 'opencode.json'), configOf(npm, settings))
      return startClient({
        program: programOf('opencode'),
        args: [
          'run',
          '--format=json',
          `--model=copilot-proxy/${settings.model}`,
          // Saves the request that makes a title, which sends the prompt and its markers a second time.
          '--title=test',
          ...(isResumed ? ['--continue'] : []),
          ...(image === undefined ? [] : ['--file', image]),
        ],
        cwd: place.workspace,
        env: {
          ...baseEnvironment(place),
          COPILOT_PROXY_API_KEY: settings.key,
          // So that it does not wait for what it cannot reach.
          OPENCODE_DISABLE_AUTOUPDATE: '1',
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        },
        // As an argument it would be quoted, and the quotes of its markers with it.
        input: prompt,
      })
    },
    read: ({ stdout }) => {
      const printed = jsonLines(stdout).flatMap((line) => event.safeParse(line).data ?? [])
      const texts = printed.flatMap((each) => (each.type === 'text' ? [each.part.text] : []))
      const failures = printed.flatMap((each) =>
        each.type === 'error' ? [`${each.error.name}: ${each.error.data.message}`] : [],
      )
      return { text: texts.at(-1) ?? '', failure: failures.join('\n') }
    },
  }
}

function configOf(npm: string, { url, model, isThinking }: Settings): string {
  return JSON.stringify({
    $schema: 'https://opencode.ai/config.json',
    provider: {
      'copilot-proxy': {
        npm,
        name: 'copilot-proxy',
        options: { baseURL: `${url}/v1`, apiKey: '{env:COPILOT_PROXY_API_KEY}' },
        models: {
          [model]: {
            // Without it images are left out of what is sent.
            modalities: { input: ['text', 'image'], output: ['text'] },
            // Without them it asks for more output than some models have, and does not know when to compact.
            limit: { context: 128_000, output: 16_000 },
            ...(isThinking && {
              reasoning: true,
              ...(npm === '@ai-sdk/anthropic' && { options: { thinking: { type: 'enabled', budgetTokens: 4096 } } }),
            }),
          },
        },
      },
    },
  })
}
