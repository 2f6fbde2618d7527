import { z } from 'zod'
import { jsonLines } from './client.ts'
import type { Client } from './client.ts'
import { baseEnvironment, programOf } from './place.ts'
import { startClient } from './run-client.ts'

/** The last line of `--output-format stream-json`. */
const result = z.looseObject({ type: z.literal('result'), is_error: z.boolean(), result: z.string() })

export const claudeCode: Client = {
  name: 'Claude Code',
  callToRead: (file) => `[demo:tool Read ${JSON.stringify({ file_path: file })}]`,
  start: (place, { url, model, key }, { prompt, isResumed = false }) =>
    Promise.resolve(
      startClient({
        program: programOf('claude'),
        args: [
          ...(isResumed ? ['--continue'] : []),
          // As an interface reads it that shows thoughts; with the plain formats it asks for none to be shown.
          '--output-format=stream-json',
          '--verbose',
          '--include-partial-messages',
          '--allowedTools=Read,WebFetch,WebSearch,mcp__copilot-proxy',
          '--print',
          '--',
          prompt,
        ],
        cwd: place.workspace,
        env: {
          ...baseEnvironment(place),
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_AUTH_TOKEN: key,
          ANTHROPIC_MODEL: model,
          ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
          // So that a test is short; nothing of it is needed to work.
          CLAUDE_CODE_MAX_RETRIES: '1',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          // Otherwise the prompt may be sent before the server has started.
          MCP_CONNECTION_NONBLOCKING: 'false',
        },
      }),
    ),
  read: ({ stdout }) => {
    const printed = result.safeParse(jsonLines(stdout).at(-1))
    if (!printed.success) return { text: '', failure: `printed no result: ${stdout}` }
    const { is_error: isError, result: words } = printed.data
    return isError ? { text: '', failure: words } : { text: words, failure: '' }
  },
}
