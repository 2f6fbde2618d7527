import { realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { Intent } from '../tools/tool.ts'
import type { Folder } from '../workspace/folder.ts'
import { createPace } from '../workspace/patch/pace.ts'
import { parsePatch } from '../workspace/patch/parse-patch.ts'
import { denied, ToolError } from '../workspace/tool-error.ts'

/** Enforces `agent.allowed-roots`. */
export interface Scope {
  /** Returns the arguments, with a glob narrowed to the allowed folders. @throws ToolError `denied`, and those of `parsePatch` */
  readonly narrow: (tool: string, args: unknown, signal: AbortSignal) => Promise<unknown>
  /** Removes files and hits outside the allowed folders from a result. */
  readonly filter: (tool: string, result: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  /** @throws ToolError `denied` */
  readonly check: (intent: Intent) => void
}

export function createScope(allowedRoots: readonly string[], folder: Folder): Scope {
  const roots = allowedRoots.map((root) => (root === '*' ? '' : folder.relativePath(root)))
  if (roots.includes('')) return { narrow: async (_tool, args) => args, filter: (_tool, result) => result, check() {} }
  const isInside = (path: string): boolean => roots.some((root) => path === root || path.startsWith(`${root}/`))

  function require(given: string): string {
    const path = folder.relativePath(given)
    if (isInside(path)) return path
    const detail = `${path === '' ? 'The root of the workspace' : JSON.stringify(path)} is outside the folders that the agent may use (agent.allowed-roots: ${roots.join(', ')}).`
    throw new ToolError({ kind: 'denied', detail })
  }

  /** Also checks the real path, because a link inside an allowed folder may point outside. */
  async function requireFile(given: string): Promise<void> {
    const path = require(given)
    const real = await realpath(join(folder.root, path)).catch(() => undefined)
    if (real !== undefined) require(relative(folder.root, real).split(sep).join('/'))
  }

  return {
    async narrow(tool, args, signal) {
      if (typeof args !== 'object' || args === null) return args
      if ('path' in args && typeof args.path === 'string' && tool.startsWith('mcp.')) await requireFile(args.path)
      if (tool === 'mcp.edit.applyPatch' && 'unifiedDiff' in args && typeof args.unifiedDiff === 'string') {
        for (const { from, to } of await parsePatch(args.unifiedDiff, createPace(signal))) {
          await requireFile(from)
          await requireFile(to)
        }
      }
      if (tool.startsWith('mcp.git.') && !('path' in args)) return { ...args, path: onlyRoot(roots) }
      if (!hasGlob(tool)) return args
      const glob = 'glob' in args && typeof args.glob === 'string' ? args.glob : ''
      return { ...args, glob: narrowGlob(glob, roots) }
    },
    filter(tool, result) {
      const key = tool === 'mcp.fs.list' ? 'files' : tool === 'mcp.search.code' ? 'hits' : ''
      const list = result[key]
      if (!Array.isArray(list)) return result
      const kept: unknown[] = list.filter((each: unknown) => {
        const path = typeof each === 'object' && each !== null && 'file' in each ? each.file : each
        return typeof path === 'string' && isInside(path)
      })
      return { ...result, [key]: kept }
    },
    check({ writes = [], reads = [], argv, cwd = '' }) {
      for (const path of [...writes, ...reads]) require(path)
      if (argv !== undefined) require(cwd)
    },
  }
}

/** git takes one path. @throws ToolError `denied` if there are several folders */
function onlyRoot(roots: readonly string[]): string {
  const [root = ''] = roots
  if (roots.length === 1) return root
  throw denied(`Name the path: the agent may use several folders (agent.allowed-roots: ${roots.join(', ')}).`)
}

function hasGlob(tool: string): boolean {
  return tool === 'mcp.fs.list' || tool === 'mcp.search.code'
}

/** Narrows a glob, so that files that `filter` removes do not use up the limit of results. */
function narrowGlob(glob: string, roots: readonly string[]): string {
  const isAnchored = glob.includes('/') && !glob.startsWith('**/')
  if (isAnchored) return glob
  const below = glob === '' ? '**' : glob.startsWith('**/') ? glob : `**/${glob}`
  const [root = ''] = roots
  return roots.length === 1 ? `${root}/${below}` : `{${roots.join(',')}}/${below}`
}
