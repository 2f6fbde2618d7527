import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { resourceToolName } from '../tools/offer-names.ts'
import type { Session } from '../tools/session.ts'
import type { Tools } from '../tools/tool.ts'
import type { TurnPart } from '../translate/turn.ts'
import type { AgentEvent } from './agent-event.ts'
import { accepts } from './expand-prompt.ts'
import { imagePart } from './images.ts'
import { findMentions, type Mention } from './mentions.ts'
import { endOfCall } from './loop-results.ts'
import type { ToolRunner } from './run-tool.ts'

export interface MentionsDeps {
  readonly tools: Pick<Tools, 'list'>
  readonly session: Session
  readonly runner: Pick<ToolRunner, 'run'>
  /** Maximum length of what the mentions of a message attach. Characters. */
  readonly maxLength: number
  readonly emit: (event: AgentEvent) => void
}

/**
 * Attaches what a person mentions in a message, e.g. `@src/a.ts`: returns the parts for the model. Each file is read as the model
 * reads it, under the same rules, but nobody is asked: a name in a text is no consent. What is no path of the workspace stays a word
 * of the text. Never rejects.
 */
export type AttachMentions = (text: string, step: number, signal: AbortSignal) => Promise<readonly TurnPart[]>

/** Maximum number of mentions of one message that are attached. */
const maxAttached = 20

/** Maximum number of files in the list of a folder. */
const maxListed = 200

interface Found {
  readonly mention: Mention
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

export function createMentions({ tools, session, runner, maxLength, emit }: MentionsDeps): AttachMentions {
  const { folder } = session
  let calls = 0

  async function find(readings: readonly Mention[]): Promise<Found | undefined> {
    for (const mention of readings) {
      const { target, range } = mention
      const path = await pathOf(target)
      const kind = path === undefined ? undefined : await kindOf(path)
      if (path !== undefined && kind === 'folder') {
        if (range !== undefined || (path === '' && !target.includes('/'))) continue
        const args = { glob: path === '' ? '' : `${path}/**`, limit: maxListed }
        return { mention, tool: 'mcp.fs.list', args }
      }
      const isRefused = path === undefined && (await isOutside(target))
      if (kind === 'file' || isRefused) {
        return { mention, tool: 'mcp.fs.read', args: { path: path ?? target, ...(range && { range }) } }
      }
    }
    return findResource(readings) ?? (await findMissing(readings))
  }

  /** A path into a folder of the workspace, so that the person hears of a misspelt name. A package such as `@types/node` is no path. */
  async function findMissing(readings: readonly Mention[]): Promise<Found | undefined> {
    // A mark at the end more likely ends the sentence than the name.
    const mention = readings.at(-1)
    const top = /^(?:\.\/)?([^/]+)\/./.exec(mention?.target ?? '')?.[1]
    if (mention === undefined || top === undefined) return undefined
    const path = await pathOf(top)
    if (path === undefined || (await kindOf(path)) !== 'folder') return undefined
    return { mention, tool: 'mcp.fs.read', args: { path: mention.target } }
  }

  /** `@server:uri` is a resource of an MCP server. */
  function findResource(readings: readonly Mention[]): Found | undefined {
    // A mark at the end more likely ends the sentence than the address.
    const mention = readings.findLast(({ range }) => range === undefined)
    const [, server, uri] = /^([^:]+):(.+)$/.exec(mention?.target ?? '') ?? []
    if (mention === undefined || server === undefined) return undefined
    const args = { server, uri }
    return accepts(tools, session, resourceToolName, args) ? { mention, tool: resourceToolName, args } : undefined
  }

  /** Returns undefined for a path that no file of the workspace has. */
  async function pathOf(target: string): Promise<string | undefined> {
    try {
      return await folder.existingPath(target)
    } catch {
      return undefined
    }
  }

  /** The look follows links, and the read follows none out of the workspace. */
  async function kindOf(path: string): Promise<'file' | 'folder' | undefined> {
    const found = await stat(join(folder.root, path)).catch(() => undefined)
    if (found === undefined) return undefined
    return found.isDirectory() ? 'folder' : 'file'
  }

  async function attach({ mention, tool, args }: Found, step: number, signal: AbortSignal) {
    const { text, target, range } = mention
    calls += 1
    const call = { id: `mention-${calls}`, name: tool, args, problem: undefined }
    const lines = range === undefined ? '' : `, lines ${range.start} to ${range.end}`
    const title = `${tool === 'mcp.fs.list' ? 'files in' : 'attached'} ${JSON.stringify(target)}${lines}`
    const end = await runner.run(call, step, signal, { title, isUnasked: true })
    emit(endOfCall(end, step))
    if (end.outcome === 'ok') return { length: end.content.length, parts: partsOf(end.content, end.images) }
    return { length: 0, parts: [notAttached(text, end.message)] }
  }

  return async (text, step, signal) => {
    const parts: TurnPart[] = []
    const seen = new Set<string>()
    let length = 0
    for (const readings of findMentions(text)) {
      const found = await find(readings)
      const key = found && JSON.stringify([found.tool, found.args])
      if (found === undefined || key === undefined || seen.has(key) || signal.aborted) continue
      seen.add(key)
      if (seen.size > maxAttached || length >= maxLength) {
        parts.push(
          notAttached(found.mention.text, 'The message mentions too much. Read it with a tool if you need it.'),
        )
        continue
      }
      const attached = await attach(found, step, signal)
      length += attached.length
      parts.push(...attached.parts)
    }
    return parts
  }
}

function partsOf(content: string, images: readonly Parameters<typeof imagePart>[0][]): readonly TurnPart[] {
  return [{ type: 'text', text: content }, ...images.map(imagePart)]
}

function notAttached(text: string, reason: string): TurnPart {
  return { type: 'text', text: `(${JSON.stringify(text)} of the message below is not attached. ${reason})` }
}

/**
 * Returns whether a path leads out of the workspace, so that the person hears of it. `@/components/x` may be an alias of an import:
 * only a folder that this machine has at its root makes a path.
 */
async function isOutside(target: string): Promise<boolean> {
  if (target.startsWith('../')) return true
  const top = /^\/[^/]+(?=\/)/.exec(target)?.[0]
  return top !== undefined && (await stat(top).catch(() => undefined)) !== undefined
}
