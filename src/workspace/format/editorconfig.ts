import picomatch from 'picomatch'
import type { Style } from '../code-task.ts'

/** An `.editorconfig` and its folder: relative to the root, '' for the root. */
export interface EditorConfig {
  readonly folder: string
  readonly text: string
}

/** Longer globs match nothing. Characters. */
const maxGlob = 500

/**
 * Returns the settings for a path. Inner files and later sections take precedence. Source: spec.editorconfig.org.
 * @param files the `.editorconfig` files from the outermost folder to the path's own
 */
export function styleOf(path: string, files: readonly EditorConfig[]): Style {
  const settings = new Map<string, string>()
  const last = files.findLastIndex(({ text }) => /^\s*root\s*=\s*true\s*$/im.test(text.split(/^\s*\[/m, 1)[0] ?? ''))
  for (const { folder, text } of files.slice(Math.max(last, 0))) {
    const inner = folder === '' ? path : path.slice(folder.length + 1)
    let applies = false
    for (const line of text.split('\n')) {
      const [, section] = /^\s*\[(.+)\]\s*$/.exec(line) ?? []
      const [, key, value] = /^\s*([^=:#;[\s]+)\s*[=:]\s*([^\s#;]+)/.exec(line) ?? []
      if (section !== undefined) applies = matches(section, inner)
      else if (applies && key !== undefined && value !== undefined) settings.set(key.toLowerCase(), value.toLowerCase())
    }
  }
  return toStyle(settings)
}

/** A glob without `/` matches names in all folders. */
function matches(section: string, path: string): boolean {
  if (section.length > maxGlob) return false
  const glob = section.includes('/') ? section.replace(/^\//, '') : `**/${section}`
  return picomatch.isMatch(path, glob, { dot: true, noextglob: true })
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
