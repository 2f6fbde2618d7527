import {
  alwaysPhrase,
  changeOf,
  closedSentences,
  nameOf,
  policySentence,
  questionOf,
  rowsOf,
  secretSentence,
  truncatedSentence,
  wideningSentence,
} from '../../page/static/approval-words.js'
import { contextPhrase, instructionsSentence } from '../../page/static/context-words.js'
import { parsePatch } from '../../page/static/diff-lines.js'
import { isObject } from '../../json/json.ts'
import type { Output } from '../../terminal/output.ts'
import { wrapText } from '../../terminal/table.ts'
import { shortCount, shortCredits, shortMs, plural } from '../../terminal/format.ts'
import { withUndoCommand } from '../../terminal/undo-command.ts'
import { visible } from '../../terminal/visible.ts'
import type { ApprovalEvent, DaemonEvent, DoneEvent } from '../../api/events.ts'
import type { PlanItem } from '../../api/run.ts'

/** The most lines to show of a result, and of a diff. */
const shownResult = 8
const shownDiff = 40

/** Shows a run on a terminal. Everything that comes from the model, from files and from programs is escaped. */
export interface RunScreen {
  readonly show: (event: DaemonEvent) => void
  readonly ask: (approval: ApprovalEvent) => void
  readonly wholeDiff: (approval: Pick<ApprovalEvent, 'diff'>) => void
  readonly note: (text: string) => void
  /** Ends an open line. */
  readonly newLine: () => void
}

export function createRunScreen(output: Output): RunScreen {
  const { style } = output
  const columns = Math.min(Number.isFinite(output.columns) ? output.columns : 80, 100)
  const diffsShown = new Set<string>()
  /** Calls whose approval ended without a decision. */
  const undecided = new Set<string>()
  const flow = createFlow(output.write, columns)
  /** The kind of the last text. */
  let flowing = ''
  let lastNotice = ''
  /** The closed gates that a question of this run has named, and how to open them: once is enough. */
  const saidGates = new Set<string>()
  /** What the run has cost so far, for the next header. */
  let cost = ''
  /** The last line that a command has printed. The next text replaces it. */
  let live = ''

  function clearLive(): void {
    if (live !== '') output.write('\r\u001b[K')
    live = ''
  }

  function newLine(): void {
    clearLive()
    flow.end()
    flowing = ''
  }

  /** A line of any length. */
  function line(text: string, paint: (text: string) => string = style.plain): void {
    newLine()
    output.write(`${paint(text)}\n`)
  }

  /** A line whose end may be left out. */
  function shortLine(text: string, paint: (text: string) => string = style.plain): void {
    line(text.length <= columns ? text : `${text.slice(0, columns - 3).toWellFormed()}...`, paint)
  }

  /** Writes sentences, wrapped to the width of the screen. */
  function wrapped(text: string, paint: (text: string) => string = style.plain): void {
    const indent = /^ */.exec(text)?.[0] ?? ''
    for (const each of wrapText(text, columns, indent).slice(0, -1).split('\n')) line(each, paint)
  }

  /** Writes lines of foreign text, indented. If there are too many, it writes the last ones. */
  function fold(text: string, most: number): void {
    const lines = text.trimEnd().split('\n')
    if (text.trim() === '') return
    // The end of a program's output usually states its result.
    const shown = lines.length <= most + 1 ? lines : lines.slice(-most)
    if (shown.length < lines.length) line(`    ... ${lines.length - shown.length} lines above`, style.dim)
    for (const each of shown) shortLine(`    ${escaped(each)}`, style.dim)
  }

  function diff(text: string, most: number): void {
    const lines = text
      .replace(/\n$/, '')
      .split('\n')
      .filter((each) => !/^(?:diff --git|index|new file mode|deleted file mode) /.test(each))
    const shown = lines.length <= most + 1 ? lines : lines.slice(0, most)
    for (const each of shown) line(`    ${escaped(each)}`, paintOf(each))
    if (shown.length < lines.length) line(`    ... ${lines.length - shown.length} more lines`, style.dim)
  }

  function paintOf(text: string): (text: string) => string {
    if (/^(?:\+\+\+|---) /.test(text)) return style.bold
    if (text.startsWith('+')) return style.green
    if (text.startsWith('-')) return style.red
    return text.startsWith('@@') ? style.dim : style.plain
  }

  function fragment({ kind, text }: Extract<DaemonEvent, { readonly type: 'fragment' }>): void {
    if (kind === 'step') {
      line('')
      line(`-- ${escaped(text)} ${'-'.repeat(Math.max(0, columns - text.length - cost.length - 5))}${cost}`, style.dim)
    } else if (kind === 'notice') {
      lastNotice = text
      for (const each of text.split('\n')) wrapped(escaped(each), style.yellow)
    } else if (kind !== 'thinking') {
      clearLive()
      if (flowing !== kind) newLine()
      flowing = kind
      flow.add(text.split('\n').map(escaped).join('\n'))
    }
  }

  function tool(event: Extract<DaemonEvent, { readonly type: 'tool' }>): void {
    if (event.state === 'started') shortLine(`> ${describeCall(event.tool, event.args)}`, style.bold)
    if (event.state === 'progress') showProgress(event.text)
    if (event.state !== 'ended') return
    const { outcome, message, durationMs, result = '' } = event
    if (outcome === 'ok') {
      if (foldedTools.has(event.tool)) fold(result.replace(/^exit code \d+.*\n?/, ''), shownResult)
      const isFailedRun = /^exit code (?!0\b)/.test(message)
      shortLine(`  ${escaped(message)} (${shortMs(durationMs)})`, isFailedRun ? style.yellow : style.green)
    } else if (outcome === 'approval_refused') {
      if (!undecided.has(event.callId)) line('  refused', style.red)
    } else wrapped(`  ${escaped(outcome)}: ${escaped(message)}`, style.red)
  }

  function plan(items: readonly PlanItem[]): void {
    for (const { text, state } of items) {
      const paint = { pending: style.dim, in_progress: style.bold, completed: style.green }[state]
      wrapped(`  ${planMarks[state]} ${escaped(text)}`, paint)
    }
  }

  function showProgress(text = ''): void {
    // Files and pipes get the output at the end only.
    if (!output.isTerminal) return
    const last = text.split('\n').findLast((each) => each.trim() !== '')
    if (last === undefined) return
    newLine()
    live = `    ${escaped(last)}`.slice(0, columns - 1).toWellFormed()
    output.write(style.dim(live))
  }

  return {
    newLine,
    note: (text) => {
      for (const each of text.split('\n')) wrapped(each, style.yellow)
    },
    show(event) {
      if (event.type === 'fragment') fragment(event)
      else if (event.type === 'instructions') wrapped(escaped(instructionsSentence(event)), style.dim)
      else if (event.type === 'usage') {
        const { credits } = event.usage
        cost = credits === undefined ? '' : ` ${shortCredits(credits, false)} credits --`
      } else if (event.type === 'tool') tool(event)
      else if (event.type === 'diff' && !diffsShown.has(event.callId)) diff(event.diff, shownDiff)
      else if (event.type === 'plan') plan(event.items)
      else if (event.type === 'approval' && event.state === 'expired') {
        undecided.add(event.callId)
        line('  No decision was made before the run ended.', style.yellow)
      } else if (event.type === 'error') wrapped(escaped(event.message), style.yellow)
      else if (event.type === 'done') showEnd(event)
    },
    ask(approval) {
      const { argv, cwd = '', widening, notes = [], reads, args, plan: submitted, policy } = approval
      if (submitted !== undefined) {
        for (const each of submitted.split('\n')) wrapped(each.trim() === '' ? '' : `  ${escaped(each)}`)
        return line(`  ${questionOf(approval, escaped)}`, style.bold)
      }
      if (policy !== undefined) {
        for (const each of policy.text.trimEnd().split('\n')) line(`    ${escaped(each)}`)
        line(`  ${questionOf(approval, escaped)}`, style.bold)
        return wrapped(`  ${policySentence}`, style.yellow)
      }
      if (approval.diff !== undefined) {
        diffsShown.add(approval.callId)
        diff(approval.diff, shownDiff)
      }
      const rows = argv === undefined ? rowsOf(approval) : []
      const place = cwd === '' ? '' : ` in ${escaped(cwd)}`
      if (widening !== undefined) line(`  ${questionOf(approval, escaped)}`, style.bold)
      else if (argv !== undefined) line(`  Run ${wordsOf(argv)}${place}?`, style.bold)
      else if (reads !== undefined || rows.length > 0) line(`  ${questionOf(approval, escaped)}`, style.bold)
      else line(`  Call ${escaped(approval.tool)} ${escaped(JSON.stringify(args ?? {}))}?`, style.bold)
      for (const row of rows) {
        const { added = 0, removed = 0 } = row
        const counts = added + removed === 0 ? '' : ` (+${added} -${removed})`
        line(`    ${nameOf(row, escaped)}: ${changeOf(row)}${counts}`)
      }
      if (reads !== undefined) wrapped(`  ${secretSentence}`, style.yellow)
      if (widening !== undefined) {
        line(`    ${wordsOf(argv ?? [])}${place}`)
        wrapped(`  ${wideningSentence(widening)}`, style.yellow)
        for (const note of notes) wrapped(`  ${escaped(note)}`, style.yellow)
      }
      const [first, ...gates] = closedSentences(approval)
      const unsaid = gates.filter((gate) => !saidGates.has(gate))
      for (const sentence of unsaid.length === 0 ? [] : [first ?? [], unsaid].flat()) {
        wrapped(`  ${escaped(sentence)}`, style.dim)
      }
      for (const gate of gates) saidGates.add(gate)
      if (approval.always !== undefined) {
        wrapped(`  ${alwaysPhrase(approval)}`, style.dim)
        for (const rule of approval.always) line(`    ${escaped(rule)}`, style.dim)
      }
      if (approval.truncated === true) wrapped(`  ${truncatedSentence}`, style.red)
    },
    wholeDiff: ({ diff: text = '' }) => {
      if (text !== '') diff(text, Infinity)
    },
  }

  function showEnd({ id, outcome, reason, summary, model, steps, requests, usage, context }: DoneEvent): void {
    cost = ''
    line('')
    if (reason !== lastNotice) wrapped(escaped(reason), outcome === 'completed' ? style.green : style.red)
    // The model's text was shown as it arrived.
    const [facts = ''] = summary.split(/^The model says:$/m)
    const isNews = (each: string): boolean => each !== reason && each !== lastNotice
    for (const each of facts.trim().split('\n')) if (isNews(each)) wrapped(escaped(withUndoCommand(each, id)))
    const credits = usage.credits === undefined ? '' : `, ${shortCredits(usage.credits, false)} credits`
    const tokens = `${shortCount(usage.inputTokens)} tokens in, ${shortCount(usage.outputTokens)} out`
    const used = context === undefined ? '' : `, context ${contextPhrase(context, shortCount)}`
    const by = model === undefined ? '' : ` by ${escaped(model)}`
    wrapped(`${plural(steps, 'step')}, ${plural(requests, 'request')}${by}, ${tokens}${credits}${used}`, style.dim)
  }
}

/** What a terminal shows before each item of a plan. */
const planMarks = { pending: '[ ]', in_progress: '[>]', completed: '[x]' } as const

/** The tools whose results are shown. Other tools return files, which are long. */
const foldedTools: ReadonlySet<string> = new Set(['mcp.shell.run', 'mcp.task.run', 'mcp.fs.list'])

/** One line: the tool's name without `mcp.`, and its main arguments. */
function describeCall(tool: string, args: unknown): string {
  const name = escaped(tool.replace(/^mcp\./, ''))
  if (!isObject(args)) return name
  const { argv, path, files, cmd, query, glob, unifiedDiff } = args
  if (Array.isArray(argv)) return `${name} ${wordsOf(argv.map(String))}`
  const patched = typeof unifiedDiff === 'string' ? parsePatch(unifiedDiff).map((file) => file.path) : []
  const subject = [path, cmd, query, glob, ...(Array.isArray(files) ? files : []), ...patched, args['name']]
  const words = subject.filter((each) => typeof each === 'string')
  return words.length === 0 ? name : `${name} ${escaped(words.join(' '))}`
}

/** Quotes words that a reader could take for several words. */
function wordsOf(argv: readonly string[]): string {
  return argv.map((word) => escaped(/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')
}

/** One line of foreign text: control characters cannot move the cursor or colour anything. */
function escaped(text: string): string {
  return visible(text.replace(/\r$/, '').replaceAll('\t', '    '))
}

/** Writes text that comes in pieces, and breaks its lines between words. */
function createFlow(write: (text: string) => void, columns: number) {
  let column = 0
  let space = ''
  /** The last word of the text so far. The next piece may continue it. */
  let word = ''
  const put = (): void => {
    if (word === '') return
    const isTooLong = column > 0 && column + space.length + word.length > columns
    write(isTooLong ? `\n${word}` : space + word)
    column = (isTooLong ? 0 : column + space.length) + word.length
    space = ''
    word = ''
  }
  return {
    add(text: string): void {
      for (const part of text.match(/\n|[^\S\n]+|\S+/g) ?? []) {
        if (/\S/.test(part)) word += part
        else {
          put()
          space = part === '\n' ? '' : space + part
          if (part !== '\n') continue
          write('\n')
          column = 0
        }
      }
    },
    /** Ends an open line. */
    end(): void {
      put()
      if (column > 0) write('\n')
      column = 0
      space = ''
    },
  }
}
