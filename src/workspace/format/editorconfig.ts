import { parseGlob } from '../glob.ts'

/** An `.editorconfig` and its folder: relative to the root, '' for the root. */
export interface EditorConfig {
  readonly folder: string
  readonly text: string
}

/** Options of prettier that `.editorconfig` states. */
export interface Style {
  readonly useTabs?: boolean
  readonly tabWidth?: number
  readonly printWidth?: number
  readonly endOfLine?: 'lf' | 'crlf' | 'cr'
}

/** Longer globs match nothing. Characters. */
const maxGlob = 500

/** Numbers of a range such as `{1..9}`. */
const maxRange = 100

/**
 * Returns the settings for a path. Inner files and later sections take precedence. Source: spec.editorconfig.org. The files may
 * be malicious: call it in a worker process.
 * @param files the `.editorconfig` files from the outermost folder to the path's own
 */
export function styleOf(path: string, files: readonly EditorConfig[]): Style {
  const settings = new Map<string, string>()
  const last = files.findLastIndex(({ text }) => isRoot(text))
  for (const { folder, text } of files.slice(Math.max(last, 0))) {
    const inner = folder === '' ? path : path.slice(folder.length + 1)
    let applies = false
    for (const line of linesOf(text)) {
      const section = sectionOf(line)
      if (section !== undefined) {
        applies = matches(section, inner)
        continue
      }
      const [, key, value] = /^([^=:#;[\s]+)\s*[=:]\s*([^\s#;]+)/.exec(line) ?? []
      if (applies && key !== undefined && value !== undefined) settings.set(key.toLowerCase(), value.toLowerCase())
    }
  }
  return toStyle(settings)
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').map((line) => line.trim())
}

function sectionOf(line: string): string | undefined {
  return line.length > 2 && line.startsWith('[') && line.endsWith(']') ? line.slice(1, -1) : undefined
}

function isRoot(text: string): boolean {
  const lines = linesOf(text)
  const end = lines.findIndex((line) => line.startsWith('['))
  return lines.slice(0, end === -1 ? lines.length : end).some((line) => /^root\s*=\s*true$/i.test(line))
}

/** A glob without `/` matches names in all folders. */
function matches(section: string, path: string): boolean {
  if (section.length > maxGlob) return false
  try {
    return parseGlob(withRanges(section).replace(/^\//, './'), { relativePath: pathBelow }).matches(path)
  } catch {
    // An invalid glob matches nothing.
    return false
  }
}

/** The path of a glob before its first wildcard is one of the workspace already. */
function pathBelow(path: string): string {
  return path
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
}

/** Replaces `{1..3}` with `{1,2,3}`. */
function withRanges(glob: string): string {
  return glob.replaceAll(/\{(-?\d{1,9})\.\.(-?\d{1,9})\}/g, (whole, one: string, other: string) => {
    const [first = 0, last = 0] = [Number(one), Number(other)].toSorted((a, b) => a - b)
    if (last - first >= maxRange) return whole
    return `{${Array.from({ length: last - first + 1 }, (_, at) => String(first + at)).join(',')}}`
  })
}

function toStyle(settings: ReadonlyMap<string, string>): Style {
  const size = settings.get('indent_size')
  const tabWidth = number(size === undefined || size === 'tab' ? settings.get('tab_width') : size)
  const printWidth = number(settings.get('max_line_length'))
  const indent = settings.get('indent_style')
  const endOfLine = (['lf', 'crlf', 'cr'] as const).find((end) => end === settings.get('end_of_line'))
  return {
    ...(indent === 'tab' || indent === 'space' ? { useTabs: indent === 'tab' } : {}),
    ...(tabWidth === undefined ? {} : { tabWidth }),
    ...(printWidth === undefined ? {} : { printWidth }),
    ...(endOfLine === undefined ? {} : { endOfLine }),
  }
}

function number(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined
}
