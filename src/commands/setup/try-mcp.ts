import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { McpCommand } from '../../client-settings/mcp-entries.ts'
import { parseObject } from '../../json/json.ts'
import type { CommandContext } from '../shared/command.ts'

type Trial = { readonly ok: true; readonly tools: number } | { readonly ok: false; readonly detail: string }

const timeoutMs = 30_000

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'copilot-proxy setup', version: '1' },
  },
}
const listTools = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

const answer = z.object({ id: z.literal(2), result: z.object({ tools: z.array(z.unknown()) }) })

/**
 * Starts the MCP server as a client does, and counts its tools. Starts it in an empty folder, because a person may run `setup`
 * in the home folder, which is no workspace.
 */
export async function tryMcp(context: CommandContext, command: McpCommand): Promise<Trial> {
  const folder = await mkdtemp(join(tmpdir(), 'copilot-proxy-'))
  try {
    return await tryIn(folder, context, command)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function tryIn(
  cwd: string,
  context: CommandContext,
  { argv: [program, ...args], env }: McpCommand,
): Promise<Trial> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)])
  const child = spawn(program, args, { env: { ...context.env, ...env }, cwd, signal })
  let failure: string | undefined
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', ({ message }) => {
      failure = message
      resolve()
    })
  })
  // A server that ends early says why on stderr.
  child.stdin.on('error', () => {})
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-1000)
  })
  for (const message of [initialize, { jsonrpc: '2.0', method: 'notifications/initialized' }, listTools]) {
    child.stdin.write(`${JSON.stringify(message)}\n`)
  }
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const parsed = answer.safeParse(parseObject(line))
      if (parsed.success) return { ok: true, tools: parsed.data.result.tools.length }
    }
    return { ok: false, detail: failure ?? (log.trim().split('\n').at(-1) || 'it ended without an answer.') }
  } finally {
    child.stdin.end()
    await ended
  }
}
