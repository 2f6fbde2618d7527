import type { JsonObject } from '../../parts/json.ts'

/** A tool that Anthropic's models know by its type alone, as a function for other models. */
export interface ClientTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

const path = { type: 'string', description: 'Path of the file or directory.' }
const insertLine = { type: 'integer', description: 'For insert: the line after which to insert; 0 is the beginning.' }
const insertText = { type: 'string', description: 'For insert: the text to insert.' }
const fileText = { type: 'string', description: 'For create: the whole content of the file.' }
const oldText = { type: 'string', description: 'For str_replace: the text to replace; it must occur exactly once.' }
const newText = { type: 'string', description: 'For str_replace: what replaces it; leave out to delete.' }
const viewRange = {
  type: 'array',
  items: { type: 'integer' },
  description: 'For view: first and last line to show, counted from 1; -1 as last is the end of the file.',
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

const textEditor: ClientTool = {
  name: 'str_replace_based_edit_tool',
  description: 'Views, creates and edits text files.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
      path,
      view_range: viewRange,
      file_text: fileText,
      old_str: oldText,
      new_str: newText,
      insert_line: insertLine,
      insert_text: insertText,
    },
    required: ['command', 'path'],
  },
}

/** Until version 20250124 the tool could undo, and inserted `new_str`. */
const oldTextEditor: ClientTool = {
  name: 'str_replace_editor',
  description: 'Views, creates and edits text files.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'undo_edit'] },
      path,
      view_range: viewRange,
      file_text: fileText,
      old_str: oldText,
      new_str: { type: 'string', description: 'For str_replace: what replaces it. For insert: the text to insert.' },
      insert_line: insertLine,
    },
    required: ['command', 'path'],
  },
}

const memory: ClientTool = {
  name: 'memory',
  description: 'Keeps notes in files below /memories, which last from one conversation to the next. View it first.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      path: { type: 'string', description: 'Path below /memories; all commands but rename.' },
      view_range: viewRange,
      file_text: fileText,
      old_str: oldText,
      new_str: newText,
      insert_line: insertLine,
      insert_text: insertText,
      old_path: { type: 'string', description: 'For rename: the present path.' },
      new_path: { type: 'string', description: 'For rename: the new path.' },
    },
    required: ['command'],
  },
}

/** First match counts. Source: Anthropic documentation, bash, text editor and memory tool, 2026-11. */
const tools: readonly (readonly [RegExp, ClientTool])[] = [
  [/^bash_\d/, bash],
  [/^text_editor_(?:20241022|20250124)$/, oldTextEditor],
  [/^text_editor_\d/, textEditor],
  [/^memory_\d/, memory],
]

/** Undefined for tools that the caller does not run, or that no schema describes. */
export function clientToolOf(type: string): ClientTool | undefined {
  return tools.find(([pattern]) => pattern.test(type))?.[1]
}
