import { formatRequest } from './pretty-request.ts'
import { createStyle } from './terminal/style.ts'
import { visible } from './terminal/visible.ts'

/** Right-aligned to five characters, so that messages start in one column. */
const levelNames: Readonly<Record<string, string>> = {
  trace: 'TRACE',
  debug: 'DEBUG',
  info: ' INFO',
  warn: ' WARN',
  error: 'ERROR',
  fatal: 'FATAL',
}

/** As `formatLogLine`, for any number of lines that each end in a newline. */
export function formatLogLines(jsonLines: string, options: { readonly colors: boolean }): string {
  return jsonLines
    .split(/(?<=\n)/)
    .map((line) => formatLogLine(line, options))
    .join('')
}

/**
 * One JSON log line as a line for people: `14:03:07.512  INFO message key=value other="two words"`, local time, stacks
 * indented below; a request that is over reads as `formatRequest` has it. Text that is not a JSON object comes back as it is. Control characters are shown, not obeyed.
 */
export function formatLogLine(jsonLine: string, options: { readonly colors: boolean }): string {
  const fields = parseLogLine(jsonLine)
  if (fields === undefined) return jsonLine
  const { level, time, msg, ...rest } = fields
  const style = createStyle(options.colors)
  const levelName = typeof level === 'string' ? (levelNames[level] ?? level) : ''
  const paint = level === 'error' || level === 'fatal' ? style.red : level === 'warn' ? style.yellow : style.plain
  const stacks: string[] = []
  const request = typeof msg === 'string' ? formatRequest(msg, rest, style) : undefined
  const pairs = Object.entries(request?.rest ?? rest).map(
    ([name, value]) => ` ${style.dim(`${name}=`)}${formatValue(value, stacks)}`,
  )
  const clock = typeof time === 'number' ? `${style.dim(localClock(time))} ` : ''
  const message = request?.text ?? paint(typeof msg === 'string' ? visible(msg) : '')
  const below = stacks.map((stack) => `    ${style.dim(visible(stack))}\n`)
  return `${clock}${paint(levelName)} ${message}${pairs.join('')}\n${below.join('')}`
}

/** Undefined for what is no line of the log. */
export function parseLogLine(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value as one word where it is one, else as JSON. Stacks are taken out of errors and collected, line by line. */
function formatValue(value: unknown, stacks: string[]): string {
  if (typeof value === 'string') return /^[\w.:/@+-]+$/.test(value) ? value : visible(JSON.stringify(value))
  const withoutStacks = JSON.stringify(value, (name, inner: unknown) => {
    if (name !== 'stack' || typeof inner !== 'string') return inner
    // The first line repeats name and message.
    stacks.push(
      ...inner
        .split('\n')
        .slice(1)
        .map((line) => line.trim()),
    )
    return undefined
  })
  return visible(withoutStacks)
}

function localClock(timeMs: number): string {
  const date = new Date(timeMs)
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0'))
  return `${parts.join(':')}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
