import type { JsonObject } from '../../json/json.ts'

/** A tool that Anthropic's models know by its type alone, as a function for other models. */
export interface ClientTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

const bash: ClientTool = {
  name: 'bash',
  description: 'Runs a command in a bash session that lasts: its directory and variables stay from call to call.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', description: 'The command to run. Required unless restart is true.' },
      restart: { type: 'boolean', description: 'True starts the session anew.' },
    },
  },
}

const edits = ['view', 'create', 'str_replace', 'insert']

/** The members of a tool that edits files, in the order in which the model reads them. */
function fileProperties(commands: readonly string[]) {
  return {
    command: { type: 'string', enum: commands },
    path: text('Path of the file or directory.'),
    view_range: {
      type: 'array',
      items: { type: 'integer' },
      description: 'For view: first and last line to show, counted from 1; -1 as last is the end of the file.',
    },
    file_text: text('For create: the whole content of the file.'),
    old_str: text('For str_replace: the text to replace; it must occur exactly once.'),
    new_str: text('For str_replace: what replaces it; leave out to delete.'),
    insert_line: { type: 'integer', description: 'For insert: the line after which to insert; 0 is the beginning.' },
  }
}

const insertText = text('For insert: the text to insert.')

function text(description: string) {
  return { type: 'string', description }
}

function textEditor(name: string, properties: JsonObject): ClientTool {
  const parameters = { type: 'object', properties, required: ['command', 'path'] }
  return { name, description: 'Views, creates and edits text files.', parameters }
}

/** Until version 20250124 the tool could undo edits, and its insert command had `new_str`. */
const oldTextEditor = textEditor('str_replace_editor', {
  ...fileProperties([...edits, 'undo_edit']),
  new_str: text('For str_replace: what replaces it. For insert: the text to insert.'),
})

const newTextEditor = textEditor('str_replace_based_edit_tool', {
  ...fileProperties(edits),
  insert_text: insertText,
})

const memory: ClientTool = {
  name: 'memory',
  description: 'Keeps notes in files below /memories, which last from one conversation to the next. View it first.',
  parameters: {
    type: 'object',
    properties: {
      ...fileProperties([...edits, 'delete', 'rename']),
      path: text('Path below /memories; all commands but rename.'),
      insert_text: insertText,
      old_path: text('For rename: the present path.'),
      new_path: text('For rename: the new path.'),
    },
    required: ['command'],
  },
}

/** The first match counts. Source: Anthropic documentation, bash, text editor and memory tool, 2026-11. */
const tools: readonly (readonly [RegExp, ClientTool])[] = [
  [/^bash_\d/, bash],
  [/^text_editor_(?:20241022|20250124)$/, oldTextEditor],
  [/^text_editor_\d/, newTextEditor],
  [/^memory_\d/, memory],
]

/** Undefined for tools that the caller does not execute, or that no schema describes. */
export function clientToolOf(type: string): ClientTool | undefined {
  return tools.find(([pattern]) => pattern.test(type))?.[1]
}
