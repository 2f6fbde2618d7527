import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { jsonLines } from './client.ts'
import type { Client, Settings } from './client.ts'
import { baseEnvironment, programOf } from './place.ts'
import { startClient } from './run-client.ts'

/** What `codex exec --json` prints of an answer and of a failure. */
const event = z.union([
  z.looseObject({
    type: z.literal('item.completed'),
    item: z.looseObject({ type: z.literal('agent_message'), text: z.string() }),
  }),
  z.looseObject({ type: z.literal('turn.failed'), error: z.looseObject({ message: z.string() }) }),
])

export const codex: Client = {
  name: 'Codex CLI',
  callToRead: (file) => `[demo:tool exec_command ${JSON.stringify({ cmd: `cat '${file}'` })}]`,
  start: async (place, settings, { prompt, isResumed = false, image }) => {
    const folder = join(place.home, '.codex')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'config.toml'), (settings.first ?? '') + configOf(settings) + (settings.more ?? ''))
    return startClient({
      program: programOf('codex'),
      args: [
        'exec',
        ...(isResumed ? ['resume', '--last'] : []),
        '--json',
        '--skip-git-repo-check',
        // Its own sandbox needs more of the kernel than a network namespace leaves it.
        '--dangerously-bypass-approvals-and-sandbox',
        ...(image === undefined ? [] : ['--image', image]),
        '--',
        prompt,
      ],
      cwd: place.workspace,
      env: { ...baseEnvironment(place), COPILOT_PROXY_API_KEY: settings.key },
    })
  },
  read: ({ stdout }) => {
    const printed = jsonLines(stdout).flatMap((line) => event.safeParse(line).data ?? [])
    const texts = printed.flatMap((each) => (each.type === 'item.completed' ? [each.item.text] : []))
    const failures = printed.flatMap((each) => (each.type === 'turn.failed' ? [each.error.message] : []))
    return { text: texts.at(-1) ?? '', failure: failures.join('\n') }
  },
}

function configOf({ url, model, isThinking }: Settings): string {
  return `
model = "${model}"
model_provider = "copilot-proxy"
${isThinking ? 'model_reasoning_effort = "medium"' : ''}

[model_providers.copilot-proxy]
name = "copilot-proxy"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "COPILOT_PROXY_API_KEY"
# So that a test is short.
request_max_retries = 1
stream_max_retries = 0

# Where it reaches nobody, a report that it tries to deliver holds up its end.
[analytics]
enabled = false
`
}
