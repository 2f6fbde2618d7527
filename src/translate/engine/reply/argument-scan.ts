/**
 * The state of a scan over the arguments of one tool call, which arrive in pieces: tracks strings, depth and runaway
 * whitespace without parsing. Updated in place.
 */
export interface ArgumentScan {
  inString: boolean
  escaped: boolean
  depth: number
  /** Tabs and line ends in the current run of whitespace, outside strings. */
  blanks: number
  /** The outermost object or array has ended. */
  closed: boolean
}

/**
 * Some models write line ends and tabs until the token limit (docs/copilot-wire.md, quirk 17). Indented JSON stays far
 * below this limit: spaces do not count, and the limit grows by one tab per level.
 */
const maxBlanks = 20

const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const QUOTE = 34
const BACKSLASH = 92
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

export function startArgumentScan(): ArgumentScan {
  return { inString: false, escaped: false, depth: 0, blanks: 0, closed: false }
}

/** Scans the next piece. Returns its length, or the offset at which whitespace becomes runaway. */
export function scanArguments(scan: ArgumentScan, piece: string): number {
  for (let i = 0; i < piece.length; i += 1) {
    const code = piece.charCodeAt(i)
    if (scan.inString) {
      if (scan.escaped) scan.escaped = false
      else if (code === BACKSLASH) scan.escaped = true
      else if (code === QUOTE) scan.inString = false
      continue
    }
    switch (code) {
      case TAB:
      case LF:
      case CR:
        scan.blanks += 1
        if (scan.blanks > maxBlanks + scan.depth) return i
        continue
      case SPACE:
        continue
      case QUOTE:
        scan.inString = true
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        scan.depth += 1
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        // Not below zero: a stray bracket must not lower the limit.
        scan.depth = Math.max(0, scan.depth - 1)
        if (scan.depth === 0) scan.closed = true
        break
    }
    scan.blanks = 0
  }
  return piece.length
}
