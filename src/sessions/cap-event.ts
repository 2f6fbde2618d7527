import type { FileChange } from '../agent/agent-task.ts'
import type { RunEvent } from './session-event.ts'

/** Maximum length of one text of an event. Characters. */
const maxText = 256 * 1024

/** Much larger, because a person must see everything that an approval allows. Characters. */
const maxApproved = 2 * 1024 * 1024

/** Maximum length of the arguments of a call as JSON. Characters. */
const maxArguments = 32 * 1024

/** Shortens long texts and drops long arguments, because each event is stored and sent to all listeners. Sets `truncated` then. */
export function capEvent(event: RunEvent): RunEvent {
  let isCut = false
  const cut = (text: string, most = maxText): string => {
    if (text.length <= most) return text
    isCut = true
    return `${text.slice(0, most)}…`
  }
  const capped = cutEvent(event, cut, (args, most) => {
    if (args === undefined || JSON.stringify(args).length <= most) return args
    isCut = true
    return {}
  })
  return isCut ? { ...capped, truncated: true } : event
}

/** Maximum length of a text of a call in the record of a run, which is read in one piece. Characters. */
const maxRecorded = 64 * 1024

/** Maximum length of all diffs in the record of a run. Characters. */
const maxRecordedDiffs = 2 * 1024 * 1024

/** Shortens the long texts of a call or an approval for the record of its run. Sets `truncated` then. */
export function capRecord(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const long = Object.entries(data).filter(([, value]) => typeof value === 'string' && value.length > maxRecorded)
  if (long.length === 0) return data
  const shortened = long.map(([name, value]) => [name, `${String(value).slice(0, maxRecorded)}…`] as const)
  return { ...data, ...Object.fromEntries(shortened), truncated: true }
}

/** Shortens the diffs of files for the record of a run. */
export function capDiffs(files: readonly FileChange[]): FileChange[] {
  let left = maxRecordedDiffs
  return files.map((file) => {
    const most = Math.min(maxText, left)
    left -= Math.min(file.diff.length, most)
    return file.diff.length <= most ? file : { ...file, diff: `${file.diff.slice(0, most)}…` }
  })
}

function cutEvent(
  event: RunEvent,
  cut: (text: string, most?: number) => string,
  cutArguments: (args: unknown, most: number) => unknown,
): RunEvent {
  switch (event.type) {
    case 'inbound':
    case 'instructions':
    case 'usage':
    case 'compaction':
    case 'editor':
    case 'plan':
      return event
    case 'fragment':
      return { ...event, text: cut(event.text) }
    case 'tool':
      if (event.state === 'started') return { ...event, args: cutArguments(event.args, maxArguments) }
      if (event.state === 'progress') return { ...event, text: cut(event.text) }
      return event.result === undefined ? event : { ...event, result: cut(event.result) }
    case 'approval': {
      const { diff, args, plan } = event
      return {
        ...event,
        ...(diff !== undefined && { diff: cut(diff, maxApproved) }),
        ...(args !== undefined && { args: cutArguments(args, maxApproved) }),
        ...(plan !== undefined && { plan: cut(plan, maxApproved) }),
      }
    }
    case 'diff':
      return { ...event, diff: cut(event.diff) }
    case 'done':
      return { ...event, summary: cut(event.summary), answer: cut(event.answer) }
  }
}
