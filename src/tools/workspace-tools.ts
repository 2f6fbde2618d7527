import { z } from 'zod'
import { tidyText } from '../workspace/format/format-file.ts'
import { defaultListLimit, listFiles } from '../workspace/list-files.ts'
import { applyPatch, type ApplyPatchContext } from '../workspace/patch/apply-patch.ts'
import type { Journal } from '../workspace/patch/journal.ts'
import { ownedJournal } from '../workspace/patch/owned-journal.ts'
import { replaceText } from '../workspace/patch/replace-text.ts'
import { undoChanges } from '../workspace/patch/undo-changes.ts'
import { readImage } from '../workspace/read-image.ts'
import { readText } from '../workspace/read-text.ts'
import { defaultMaxResults, searchCode } from '../workspace/search-code.ts'
import { defineTool } from './define-tool.ts'
import { filterContext } from './filter-context.ts'
import type { MixedResult } from './result-content.ts'
import type { SessionInfo, Tool, ToolContext, ToolSource } from './tool.ts'

export interface WorkspaceToolsDeps {
  /** Opens the journal of a session's changes, or returns the open one. @throws ToolError */
  readonly journal: (session: SessionInfo) => Promise<Journal>
}

/** A path in a list. Bytes. */
const usualPathBytes = 80

/** Maximum number of changes that are undone together. */
const maxUndone = 1000

/** A hit with the lines around it. Bytes. */
const usualHitBytes = 1000

const path = z.string().min(1).describe('Path relative to the workspace, with /.')
const line = z.int().min(1)
const count = (max: number) => z.int().min(1).max(max)
const format = z.boolean().optional().describe('Formats the changed files and organises their imports. Default: false.')
const dryRun = z.boolean().optional().describe('Computes the result and changes nothing. Default: false.')
const sha256 = z.string().regex(/^[0-9a-f]{64}$/i)

/** Creates the tools that read, search and patch files. */
export function createWorkspaceTools({ journal }: WorkspaceToolsDeps): ToolSource {
  const tools: readonly Tool[] = [
    defineTool(
      z.strictObject({
        path,
        range: z
          .strictObject({ start: line, end: line })
          .optional()
          .describe('Lines to read, counted from 1; end is included. Default: the whole file.'),
      }),
      {
        name: 'mcp.fs.read',
        description: 'Reads a text file, or some of its lines, or an image.',
        effect: 'read',
        async run(args, { folder, files, signal, limits, reserve }) {
          const wanted = { maxBytes: limits.maxFileBytes, signal, reserve }
          const image = await readImage(folder, args.path, wanted)
          if (image !== undefined) return { text: '', parts: [{ type: 'image', ...image }] } satisfies MixedResult
          return { ...(await readText(files, args, wanted)) }
        },
      },
    ),
    defineTool(
      z.strictObject({
        glob: z.string().optional().describe('Files to list, e.g. src/**/*.ts. Default: every file.'),
        limit: count(10_000).optional().describe('Maximum number of files. Default: 1000.'),
      }),
      {
        name: 'mcp.fs.list',
        description: 'Lists files of the workspace, except files that .gitignore and similar files exclude.',
        effect: 'read',
        async run(args, { folder, signal, reserve }) {
          await reserve((args.limit ?? defaultListLimit) * usualPathBytes)
          return { ...(await listFiles(folder, args, signal)) }
        },
      },
    ),
    defineTool(
      z.strictObject({
        query: z.string().min(1).describe('Text to search for.'),
        glob: z.string().optional().describe('Files to search, e.g. src/**/*.ts. Default: every file.'),
        maxResults: count(2000).optional().describe('Maximum number of hits. Default: 200.'),
        regex: z.boolean().optional().describe('The query is a regular expression. Default: false.'),
        caseSensitive: z.boolean().optional().describe('Default: true.'),
      }),
      {
        name: 'mcp.search.code',
        description: 'Searches the files of the workspace for a text and gives the lines around each hit.',
        effect: 'read',
        async run(args, { folder, signal, reserve }) {
          await reserve((args.maxResults ?? defaultMaxResults) * usualHitBytes)
          return { ...(await searchCode(folder, args, signal)) }
        },
      },
    ),
    defineTool(
      z.strictObject({
        unifiedDiff: z
          .string()
          .describe(
            'The change as a unified diff or as a V4A patch (*** Begin Patch … *** End Patch), with paths relative to the workspace.',
          ),
        verify: z
          .literal(true)
          .optional()
          .describe('Always true: each hunk must match the file, where it states or at one other place.'),
        baseSha256: z
          .union([sha256, z.record(z.string(), sha256.nullable())])
          .optional()
          .describe('SHA-256 of the file that the patch was made for; for several files an object with one by path.'),
        format,
        dryRun,
      }),
      {
        name: 'mcp.edit.applyPatch',
        description: 'Applies a unified diff or a V4A patch to files of the workspace: all of it or nothing.',
        effect: 'write',
        run: async (args, context) => ({
          ...(await applyPatch(await patchDeps(context), args, patchContext(context))),
        }),
      },
    ),
    defineTool(
      z.strictObject({
        path,
        oldText: z
          .string()
          .min(1)
          .describe('The exact text to replace, with its indentation. The file must have it once.'),
        newText: z.string().describe('The text that replaces it.'),
        all: z.boolean().optional().describe('Replaces the text each time that the file has it. Default: false.'),
        format,
        dryRun,
      }),
      {
        name: 'mcp.edit.replace',
        description: 'Replaces a text in a file of the workspace. For several places or files use edit_applyPatch.',
        effect: 'write',
        run: async (args, context) => ({
          ...(await replaceText(await patchDeps(context), args, patchContext(context))),
        }),
      },
    ),
    defineTool(
      z.strictObject({
        id: z.string().optional().describe('The id that the change returned. Default: the last change.'),
        run: z
          .string()
          .optional()
          .describe('The id of a run of the agent: undoes all its changes or none, without id.'),
        ids: z
          .array(z.string())
          .min(1)
          .max(maxUndone)
          .optional()
          .describe('The ids of several changes: undoes all of them or none, without id and run.'),
        dryRun,
      }),
      {
        name: 'mcp.edit.undo',
        description: 'Undoes a change of applyPatch, replace, format.apply or imports.organize.',
        effect: 'write',
        async run(args, context) {
          const deps = { ...(await patchDeps(context)), isAgent: context.runId !== undefined }
          return { ...(await undoChanges(deps, args, context)) }
        },
      },
    ),
  ]

  async function patchDeps(context: ToolContext) {
    const { session, files, limits } = context
    return { folder: files, journal: ownedJournal(await journal(session), context), maxFileBytes: limits.maxFileBytes }
  }

  return { tools: () => tools }
}

function patchContext(context: ToolContext): ApplyPatchContext {
  const { authorize, permit, signal, folder } = context
  return { authorize, permit, signal, format: (file, text) => tidyText(folder, file, text, filterContext(context)) }
}
