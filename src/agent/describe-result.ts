import { isObject, objectsOf } from '../json/json.ts'
import { contentOf, describeMedia, readMixedResult, showValue, type Media } from '../tools/result-content.ts'
import type { ToolResult } from '../tools/tool.ts'
import { plural } from './plural.ts'

interface DescribedResult {
  /** The text that the model and people see. */
  readonly text: string
  readonly images?: readonly Media[]
  /** One line that summarises the result for people. */
  readonly message: string
}

/** Describes a result as text. Includes files and output unchanged: JSON would escape their quotes and line ends. */
export function describeResult(tool: string, result: ToolResult): DescribedResult {
  const { content, files, hits, exitCode } = result
  if (tool === 'mcp.fs.read' && typeof content === 'string') {
    const rest = result['truncated'] === true ? '\n(The file is longer. Read the rest with a range.)' : ''
    const unsaved = result['unsaved'] === true ? `\n(${unsavedSentence})` : ''
    return { text: content + rest + unsaved, message: plural(lineCount(content), 'line') }
  }
  if (tool === 'mcp.fs.list' && Array.isArray(files)) {
    const text = files.length === 0 ? 'No file matches.' : files.join('\n')
    return { text: text + more(result), message: plural(files.length, 'file') }
  }
  if (tool === 'mcp.search.code') {
    const found = objectsOf(hits)
    const texts = found.map(({ file, line, snippet }) => `${String(file)}:${String(line)}\n${String(snippet)}`)
    const text = texts.length === 0 ? 'Nothing was found.' : texts.join('\n\n')
    return { text: text + more(result), message: plural(found.length, 'hit') }
  }
  if (tool === 'mcp.git.diff') {
    const { diff, omitted } = result
    const left = omitted === 0 ? '' : `\n(${String(omitted)} changed files may not be read.)`
    const text = diff === '' ? 'Nothing has changed since the last commit.' : String(diff)
    return { text: text + left + more(result), message: diff === '' ? 'no changes' : plural(lineCount(text), 'line') }
  }
  if (typeof exitCode === 'number' || result['isRunning'] !== undefined) return describeRun(result)
  if (tool === 'mcp.plan.set') return { text: 'The plan is shown.', message: 'plan shown' }
  if (tool.startsWith('mcp.edit.')) {
    const paths = objectsOf(files).map(({ path }) => String(path))
    const { id } = result
    const text =
      typeof id === 'string'
        ? `Done. The id of the change is ${id}. Files: ${paths.join(', ')}`
        : 'Nothing was changed.'
    return { text, message: typeof id === 'string' ? `changed ${paths.join(', ')}` : 'nothing to change' }
  }
  const mixed = readMixedResult(result)
  if (mixed !== undefined) {
    const { texts, images } = contentOf(mixed)
    const rest = mixed.truncated === true ? ['(A part of the result was left out.)'] : []
    const message = tool === 'mcp.fs.read' ? images.map((image) => describeMedia(image)).join() : 'done'
    return { text: [...texts, ...rest].join('\n'), images, message }
  }
  return {
    text: showValue(result),
    message: isObject(result) && result['changed'] === false ? 'unchanged' : 'done',
  }
}

const unsavedSentence =
  'The text is that of the editor and not saved. Changes are made to this text. Searches and commands find the older file on disk.'

function describeRun({ id, isRunning, exitCode, problem, ...output }: ToolResult): DescribedResult {
  const { stdout, stderr, timedOut, truncated, notes } = output
  const state =
    isRunning === true ? `running in the background with the id ${String(id)}` : `exit code ${String(exitCode)}`
  const end = typeof problem === 'string' ? problem : state
  const parts = [
    `${end}${timedOut === true ? ', stopped at the time limit' : ''}`,
    ...(typeof stdout === 'string' && stdout !== '' ? [`stdout:\n${stdout}`] : []),
    ...(typeof stderr === 'string' && stderr !== '' ? [`stderr:\n${stderr}`] : []),
    ...(truncated === true ? ['(A part of the output was left out.)'] : []),
    ...(Array.isArray(notes) ? notes.map((note) => `(${String(note)})`) : []),
  ]
  return { text: parts.join('\n'), message: parts[0] ?? '' }
}

function more({ truncated }: ToolResult): string {
  return truncated === true ? '\n(There are more.)' : ''
}

function lineCount(text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

/** Keeps `max` characters of a text: its start and its end. The end of a program's output often has the result. */
export function capText(text: string, max: number): { readonly text: string; readonly isCut: boolean } {
  if (text.length <= max) return { text, isCut: false }
  const head = Math.floor(max * 0.7)
  const tail = max - head
  const left = text.length - head - tail
  const start = text.slice(0, head).toWellFormed()
  return { text: `${start}\n[… ${left} characters left out …]\n${text.slice(-tail).toWellFormed()}`, isCut: true }
}
