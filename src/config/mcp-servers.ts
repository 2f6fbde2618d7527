import { posix, win32 } from 'node:path'
import { z } from 'zod'
import { endpointUrl, filledText, onOff, positiveSeconds } from './setting-types.ts'
import { legalHeaderValue } from './header-table.ts'

/** `git_status` is the tool `status` of the server `git`. The APIs of models allow names of 64 such characters. */
const namePhrase = 'a name of 1 to 24 letters, digits, - and _, starting with a letter'
const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,23}$/

/** The first words of copilot-proxy's own tools, as models see them. */
const ownPrefixes: ReadonlySet<string> = new Set(
  'mcp rpc fs search symbols edit format imports shell task policy session tools'.split(' '),
)

const isAbsolute = (path: string): boolean =>
  /^~[/\\]/.test(path) || path.startsWith('${workspace}') || posix.isAbsolute(path) || win32.isAbsolute(path)

const programPhrase = 'the name of a program, or an absolute path'
const valuePhrase = 'text (put numbers in quotes)'

const mcpServer = z
  .strictObject(
    {
      command: z
        .array(z.string(valuePhrase), 'a program and its arguments, as a list')
        .min(1, 'expected a program and its arguments, as a list')
        .refine(
          ([program = '']) => program !== '' && (isAbsolute(program) || !/[/\\]/.test(program)),
          `expected ${programPhrase} first`,
        )
        .optional(),
      env: z
        .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of a variable'), z.string(valuePhrase))
        .optional(),
      cwd: z
        .string('an absolute path')
        .refine(isAbsolute, 'expected an absolute path, or one that starts with ~/')
        .optional(),
      sandbox: onOff.optional(),
      url: endpointUrl.optional(),
      headers: z
        .record(
          z.string().regex(/^[a-z0-9!#$%&'*+.^_`|~-]+$/i, 'expected a header name'),
          // Not repeated in the message: a header may carry a key.
          z.string(valuePhrase).refine(legalHeaderValue, 'expected a valid header value: one line of plain characters'),
        )
        .optional(),
      prefix: filledText.regex(namePattern, `expected ${namePhrase}`).optional(),
      'timeout-seconds': positiveSeconds.optional(),
      trust: onOff.optional(),
    },
    'a table with command or url',
  )
  .superRefine((server, context) => {
    const issue = (message: string, path: string[] = []): void => context.addIssue({ code: 'custom', message, path })
    if ((server.command === undefined) === (server.url === undefined)) issue('expected either command or url')
    if (server.url !== undefined) {
      for (const key of ['env', 'cwd', 'sandbox'] as const) {
        if (server[key] !== undefined) issue('only a server with a command has this setting', [key])
      }
    } else if (server.headers !== undefined) issue('only a server with a url has this setting', ['headers'])
  })
export type McpServerSettings = z.output<typeof mcpServer>

/** Servers by name. */
export const mcpServerTable = z
  .record(z.string(), mcpServer, 'a table of MCP servers')
  .superRefine((servers, context) => {
    const taken = new Map<string, string>()
    for (const [name, { prefix = name }] of Object.entries(servers)) {
      const issue = (message: string): void => context.addIssue({ code: 'custom', message, path: [name] })
      if (!namePattern.test(name)) issue(`expected ${namePhrase}`)
      else if (ownPrefixes.has(prefix.toLowerCase())) {
        issue(`names of copilot-proxy’s own tools start with "${prefix}"; choose another prefix for this server`)
      }
      const owner = taken.get(prefix)
      if (owner !== undefined) issue(`the server "${owner}" has the prefix "${prefix}" too; choose another prefix`)
      taken.set(prefix, name)
    }
  })
