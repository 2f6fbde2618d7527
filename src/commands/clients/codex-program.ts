import { spawn } from 'node:child_process'
import * as nodeFs from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { tomlValue } from '../../client-settings/codex.ts'
import { clientEnvironment } from '../../client-settings/launch-settings.ts'
import { codexCatalogue, traitsOf } from '../../models/codex-catalogue.ts'
import type { CodexCatalogue, CodexCli } from '../../models/codex-catalogue.ts'
import type { CommandContext } from '../shared/command.ts'
import { spawnLine } from './program-file.ts'
import { parseJson } from '../../json/json.ts'

/** For one run of Codex CLI, which asks no server outside this machine. Ms. */
const answerTimeoutMs = 30_000

/** Codex CLI did not do what was asked. The message is the end of a sentence. */
export class CodexProblem extends Error {
  override readonly name = 'CodexProblem'
}

interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Codex CLI on this machine. */
export interface CodexProgram {
  /** For example `0.169.0`. @throws CodexProblem */
  readonly version: () => Promise<string>
  /** The facts of this version. @throws CodexProblem */
  readonly inspect: (version: string) => Promise<CodexCli>
  /** The catalogue as Codex reads it from this file. @throws CodexProblem with what Codex says if it refuses the file */
  readonly readCatalogue: (path: string) => Promise<CodexCatalogue>
}

/** @param file the program */
export function openCodexProgram(context: CommandContext, file: string): CodexProgram {
  const env = clientEnvironment(context.env, 'http://127.0.0.1')

  async function run(args: readonly string[], home?: string): Promise<Finished> {
    const line = spawnLine(file, args, context)
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(answerTimeoutMs)])
    const { promise, resolve, reject } = Promise.withResolvers<Finished>()
    const child = spawn(line.file, line.args, {
      env: home === undefined ? env : { ...env, CODEX_HOME: home },
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsVerbatimArguments: line.windowsVerbatimArguments,
      signal,
    })
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text))
    }
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...output }))
    try {
      return await promise
    } catch (cause) {
      context.signal.throwIfAborted()
      const what = signal.aborted ? `took longer than ${answerTimeoutMs / 1000} s` : 'could not be started'
      throw new CodexProblem(`codex ${args[0]} ${what}`, { cause })
    }
  }

  async function debugModels(options: readonly string[], home?: string): Promise<CodexCatalogue> {
    const { code, stdout, stderr } = await run(['debug', 'models', ...options], home)
    const catalogue = code === 0 ? codexCatalogue.safeParse(parseJson(stdout)).data : undefined
    if (catalogue !== undefined) return catalogue
    const line = stderr.split('\n').find((text) => text.trim() !== '') ?? `exit code ${code}`
    throw new CodexProblem(`codex debug models failed: ${line}`)
  }

  return {
    async version() {
      const { stdout } = await run(['--version'])
      const version = /\d+\.\d+\.\d+\S*/.exec(stdout)?.[0]
      if (version === undefined) throw new CodexProblem('codex --version names no version')
      return version
    },

    // In a folder of its own, so that no file of the user's is read or written.
    inspect: (version) =>
      withTemporaryFolder(async (home) => {
        const traits = traitsOf(await debugModels([], home))
        const recorder = await openRecorder()
        try {
          await run([...probeArguments, ...providerOptions(recorder.url), '--', 'Hello'], home)
          const instructions = recorder.instructions()
          if (instructions !== undefined) return { version, instructions, traits }
        } finally {
          recorder.close()
        }
        throw new CodexProblem('codex exec did not show its prompt for an unknown model')
      }),

    readCatalogue: (path) => debugModels(['-c', `model_catalog_json=${tomlValue(path)}`]),
  }
}

/** `codex debug prompt-input` of 0.169 leaves out this text, so it is read from a request. */
const probeArguments = ['exec', '--skip-git-repo-check']

/** A model that no Codex knows, on a server of this process. */
function providerOptions(url: string): readonly string[] {
  const provider = 'model_providers.probe'
  const settings = {
    model: 'copilot-proxy-probe',
    model_provider: 'probe',
    [`${provider}.name`]: 'probe',
    [`${provider}.base_url`]: `${url}/v1`,
    [`${provider}.wire_api`]: 'responses',
    [`${provider}.request_max_retries`]: 0,
    [`${provider}.stream_max_retries`]: 0,
  }
  const options = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${tomlValue(value)}`])
  // A report that reaches nobody would delay the end.
  return [...options, '-c', 'analytics.enabled=false']
}

/** A request of Codex: its prompt is the first message, or the instructions in a form that other versions use. */
const probeRequest = z.looseObject({
  instructions: z.string().min(1).optional().catch(undefined),
  input: z.array(z.unknown()),
})
const promptMessage = z.looseObject({
  role: z.enum(['developer', 'system']),
  // Other messages of Codex begin with a tag.
  content: z.tuple([z.looseObject({ text: z.string().regex(/^(?!\s*<)[^]+/) })]),
})

function instructionsIn(body: string): string | undefined {
  const request = probeRequest.safeParse(parseJson(body)).data
  return request?.instructions ?? promptMessage.safeParse(request?.input[0]).data?.content[0].text
}

/** A server that refuses every request and keeps the first prompt. */
async function openRecorder() {
  let instructions: string | undefined
  const server = createServer((request, reply) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.once('end', () => {
      if (request.method === 'POST') instructions ??= instructionsIn(body)
      reply.writeHead(400, { 'content-type': 'application/json', connection: 'close' })
      reply.end('{"error":{"message":"This was a test.","type":"invalid_request_error"}}')
    })
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(0, '127.0.0.1', resolve)
  await promise
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    instructions: () => instructions,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The folder is this user's alone, and removed afterwards. */
export async function withTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await nodeFs.mkdtemp(join(tmpdir(), 'copilot-proxy-'))
  try {
    return await work(folder)
  } finally {
    await nodeFs.rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
