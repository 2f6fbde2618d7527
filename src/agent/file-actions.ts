import { z } from 'zod'
import { checkValue } from '../json/check-value.ts'
import type { ParametersSchema } from '../tools/tool.ts'
import type { Folder } from '../workspace/folder.ts'
import { likeFile } from '../workspace/patch/line-ends.ts'
import { diffOf } from '../workspace/patch/render-diff.ts'
import { ToolError } from '../workspace/tool-error.ts'

/** A call of a tool by its bus method. */
export interface BusCall {
  readonly tool: string
  readonly args: unknown
  /** The `Tool.identity` of the tool that the model has called. */
  readonly identity?: string | undefined
}

interface ActionContext {
  readonly folder: Folder
  /** SHA-256 of each file whose whole content the model has read or written, by path. */
  readonly hashes: ReadonlyMap<string, string>
  readonly maxFileBytes: number
}

/** A tool with a name of copilot-anywhere that calls tools of the bus. */
export interface FileAction {
  readonly name: string
  /** The bus method that it calls. */
  readonly tool: string
  readonly description: string
  readonly parameters: ParametersSchema
  /** @throws ToolError */
  readonly toCalls: (args: unknown, context: ActionContext) => Promise<readonly BusCall[]>
}

function defineAction<Schema extends z.ZodObject>(
  schema: Schema,
  action: Omit<FileAction, 'parameters' | 'toCalls'> & {
    readonly toCalls: (args: z.output<Schema>, context: ActionContext) => Promise<readonly BusCall[]>
  },
): FileAction {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' })
  return {
    ...action,
    parameters,
    async toCalls(args, context) {
      const checked = checkValue(schema, args)
      if (checked.ok) return action.toCalls(checked.value, context)
      const { path, detail } = checked.problem
      throw new ToolError({ kind: 'invalid_arguments', path: path.join('.'), detail: `The argument ${detail}.` })
    },
  }
}

const path = z.string().min(1).describe('Path relative to the workspace, with /.')

/** Maximum number of files of one `readFiles` call. */
const maxFiles = 20

export const fileActions: readonly FileAction[] = [
  defineAction(z.strictObject({ glob: z.string().optional(), max: z.int().min(1).max(10_000).optional() }), {
    name: 'listFiles',
    tool: 'mcp.fs.list',
    description: 'Lists files.',
    toCalls: async ({ glob, max }) => [
      {
        tool: 'mcp.fs.list',
        args: { ...(glob !== undefined && { glob }), ...(max !== undefined && { limit: max }) },
      },
    ],
  }),
  defineAction(z.strictObject({ files: z.array(path).min(1).max(maxFiles) }), {
    name: 'readFiles',
    tool: 'mcp.fs.read',
    description: 'Reads files.',
    toCalls: async ({ files }) => files.map((file) => ({ tool: 'mcp.fs.read', args: { path: file } })),
  }),
  defineAction(z.strictObject({ path, content: z.string().describe('The whole text of the new file.') }), {
    name: 'createFile',
    tool: 'mcp.edit.applyPatch',
    description: 'Creates a file that does not exist yet.',
    async toCalls({ path: given, content }, { folder }) {
      const file = folder.relativePath(given)
      const unifiedDiff = await diffOf(null, Buffer.from(content), file)
      return [{ tool: 'mcp.edit.applyPatch', args: { unifiedDiff, baseSha256: { [file]: null } } }]
    },
  }),
  defineAction(z.strictObject({ path, content: z.string().describe('The whole new text of the file.') }), {
    name: 'editFile',
    tool: 'mcp.edit.applyPatch',
    description: 'Replaces the whole text of a file that you have read. For small changes use edit_replace.',
    async toCalls({ path: given, content }, { folder, hashes, maxFileBytes }) {
      const file = await folder.existingPath(given)
      const hash = hashes.get(file) ?? hashes.get(folder.relativePath(given))
      if (hash === undefined) throw refused(`Read the whole file ${JSON.stringify(file)} before you replace it.`)
      const { bytes, sha256 } = await folder.readFile(file, { maxBytes: maxFileBytes })
      if (sha256 !== hash) throw refused(`${JSON.stringify(file)} has changed since you read it. Read it again.`)
      const unifiedDiff = await diffOf(bytes, await likeFile(bytes, content), file)
      if (unifiedDiff === '') throw refused(`${JSON.stringify(file)} has this text already.`)
      return [{ tool: 'mcp.edit.applyPatch', args: { unifiedDiff, baseSha256: { [file]: hash } } }]
    },
  }),
]

function refused(detail: string): ToolError {
  return new ToolError({ kind: 'conflict', detail, conflicts: [] })
}
