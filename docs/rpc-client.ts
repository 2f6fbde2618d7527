// A typed client of /rpc for Node.js: copy this file, and install its only package with `npm install ws @types/ws`.
import { once } from 'node:events'
import { WebSocket } from 'ws'

/** What each method takes, and what it gives. */
export interface Methods {
  'mcp.fs.read': {
    params: { path: string; range?: { start: number; end: number } }
    /** `sha256` is absent if the file is larger than `workspace.max-file-mb`. */
    result: { content: string; sha256?: string; size: number; truncated: boolean }
  }
  'mcp.fs.list': { params: { glob?: string; limit?: number }; result: { files: string[]; truncated: boolean } }
  'mcp.search.code': {
    params: { query: string; glob?: string; maxResults?: number; regex?: boolean; caseSensitive?: boolean }
    result: { hits: { file: string; line: number; column: number; snippet: string }[]; truncated: boolean }
  }
  'mcp.symbols.list': {
    params: { path: string }
    result: {
      symbols: { name: string; kind: string; range: { start: Position; end: Position }; container?: string }[]
      truncated: boolean
    }
  }
  'mcp.edit.applyPatch': {
    params: {
      /** A unified diff or a V4A patch. */
      unifiedDiff: string
      verify?: true
      baseSha256?: string | Record<string, string | null>
      format?: boolean
      dryRun?: boolean
    }
    result: Changed & { unformatted?: { path: string; reason: string }[] }
  }
  'mcp.edit.replace': {
    params: { path: string; oldText: string; newText: string; all?: boolean; format?: boolean; dryRun?: boolean }
    result: Changed & { unformatted?: { path: string; reason: string }[] }
  }
  'mcp.edit.undo': { params: { id?: string; run?: string; ids?: string[]; dryRun?: boolean }; result: Changed }
  'mcp.format.apply': { params: { path: string }; result: { ok: true; changed: boolean; id?: string } }
  'mcp.imports.organize': { params: { path: string }; result: { ok: true; changed: boolean; id?: string } }
  'mcp.git.status': {
    params: { path?: string }
    result: {
      branch: string | null
      commit: string | null
      upstream?: string
      ahead?: number
      behind?: number
      changes: { path: string; from?: string; staged?: string; unstaged?: string }[]
      truncated: boolean
    }
  }
  'mcp.git.diff': { params: { path?: string }; result: { diff: string; omitted: number; truncated: boolean } }
  'mcp.git.log': {
    params: { path?: string; limit?: number }
    result: {
      commits: { commit: string; author: string; date: string; refs: string[]; message: string }[]
      truncated: boolean
    }
  }
  /** With `background: true`, the result of these two is `{ id, isRunning }`. */
  'mcp.task.run': {
    params: { name: string; args?: string[]; timeoutMs?: number; background?: boolean }
    result: Ended
  }
  'mcp.shell.run': {
    params: { argv?: string[]; cmd?: string; cwd?: string; timeoutMs?: number; background?: boolean }
    result: Ended
  }
  'mcp.shell.output': { params: { id: string; waitMs?: number }; result: Background }
  'mcp.shell.stop': { params: { id: string }; result: Background }
  /** Fails: only a run of the agent has a plan. */
  'mcp.plan.set': {
    params: { items: { text: string; state: 'pending' | 'in_progress' | 'completed' }[] }
    result: object
  }
  'mcp.tools.list': {
    params: Record<string, never>
    result: { tools: { name: string; description: string; parameters: object; effect: 'read' | 'write' | 'run' }[] }
  }
  'mcp.tools.call': { params: { name: string; args?: object }; result: object }
  'mcp.policy.get': {
    params: Record<string, never>
    result: {
      readOnly: boolean
      files: string[]
      writes: { allow: string[]; deny: string[] }
      shell: { allow: string[][]; network: string[] }
      problem: string | null
    }
  }
  'mcp.session.list': {
    params: Record<string, never>
    result: { sessions: { id: string; name: string; path: string; tools: string[] }[] }
  }
}

interface Position {
  line: number
  column: number
}

/** `null`: no such file. `id` is for `mcp.edit.undo`, and is absent if nothing was changed. */
interface Changed {
  ok: true
  id?: string
  files: { path: string; before: string | null; after: string | null }[]
  conflicts: []
}

interface Background extends Omit<Ended, 'exitCode'> {
  id: string
  isRunning: boolean
  exitCode?: number
  /** Why there is no exit code. */
  problem?: string
}

interface Ended {
  exitCode: number
  stdout: string
  stderr: string
  truncated: boolean
  timedOut: boolean
}

export class RpcError extends Error {
  readonly code: number
  readonly data: { kind?: string; path?: string; conflicts?: object[] } | undefined

  constructor({ message, code, data }: { message: string; code: number; data?: RpcError['data'] }) {
    super(message)
    this.code = code
    this.data = data
  }
}

export interface CallOptions {
  /** Cancels the call. */
  signal?: AbortSignal
  onProgress?: (part: { text: string; stream?: 'stdout' | 'stderr' }) => void
}

interface Waiting {
  resolve(result: unknown): void
  reject(error: Error): void
  onProgress: CallOptions['onProgress']
}

/** Connects to a daemon: with several workspaces, the URL names one in `?session=`. `key` is one of `server.api-keys`, if there are any. */
export async function connect(url = 'ws://127.0.0.1:4141/rpc', key?: string) {
  const socket = new WebSocket(url, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })
  const waiting = new Map<number, Waiting>()
  let last = 0
  socket.on('message', (data: Buffer) => {
    const { id, method, params, result, error } = JSON.parse(data.toString())
    if (method === '$/progress') return waiting.get(params.id)?.onProgress?.(params)
    const call = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) call?.resolve(result)
    else call?.reject(new RpcError(error))
  })
  socket.on('close', (code, reason) => {
    for (const call of waiting.values()) call.reject(new Error(`The connection closed (${code} ${reason.toString()}).`))
  })
  await once(socket, 'open')
  const send = (message: object) => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  return {
    call<M extends keyof Methods>(
      method: M,
      params: Methods[M]['params'],
      { signal, onProgress }: CallOptions = {},
    ): Promise<Methods[M]['result']> {
      const id = (last += 1)
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject, onProgress })
        send({ id, method, params })
        signal?.addEventListener('abort', () => send({ method: '$/cancelRequest', params: { id } }), { once: true })
      })
    },
    close: () => socket.close(),
  }
}
