import type { LineRange } from '../workspace/read-lines.ts'

/** A mention in a message: `@src/a.ts`, `@src/a.ts:10-20`, `@"name with spaces"`. */
export interface Mention {
  /** As the person wrote it, with the `@`. */
  readonly text: string
  readonly target: string
  readonly range?: LineRange
}

/** The longest mention, without its lines. Characters. */
const maxLength = 1000

/** Maximum number of mentions of one text, and of the places where one may end. */
const maxMentions = 200
const maxEnds = 10

/** An e-mail address has something before its `@`. A word is cut after its length, so that a text without spaces costs no more. */
const start = /(?<=^|[\s([{<"'`,;:，。（「])@(?:"([^"\n]{1,1000})"(:\d{1,9}(?:-\d{1,9})?)?|(\S{1,1001}))/g

/** A mark that ends a word: at the end, before another one, or before the next mention. */
const wordEnd = /[.,;:!?)\]}>"'`](?=$|[.,;:!?)\]}>"'`@])|['’—，。）」]/g

/**
 * Finds the mentions of a text: for each one what it may mean, the longest first, because a point may end a name or a sentence.
 * Whether something of this name exists is for the caller to find out: a name may also be that of a person or a package.
 */
export function findMentions(text: string): readonly (readonly Mention[])[] {
  const found: (readonly Mention[])[] = []
  start.lastIndex = 0
  for (let tried = 0; tried < maxMentions; tried += 1) {
    const match = start.exec(text)
    if (match === null) break
    const [whole, quoted, range = '', word = ''] = match
    // A word may contain the next mention.
    if (quoted === undefined) start.lastIndex = match.index + 1
    if (word.length > maxLength) continue
    found.push(quoted === undefined ? readingsOf(word) : [withRange(whole, quoted + range, quoted)])
  }
  return found
}

function readingsOf(word: string): readonly Mention[] {
  const ends = Array.from(word.matchAll(wordEnd), ({ index }) => index)
    .slice(0, maxEnds)
    .toReversed()
  const words = [word, ...ends.map((end) => word.slice(0, end))].filter((each) => each !== '')
  return words.flatMap((each) => {
    const plain = { text: `@${each}`, target: each }
    const ranged = withRange(plain.text, each)
    return ranged.range === undefined ? plain : [plain, ranged]
  })
}

/** Reads `:10`, `:10-20`, and `:10:4` as programs write it, with a column. */
function withRange(text: string, given: string, otherwise = given): Mention {
  const [, target, from, to] = /^(.+?):(\d{1,9})(?::\d+)?(?:-(\d{1,9}))?$/.exec(given) ?? []
  if (target === undefined || from === undefined) return { text, target: otherwise }
  return { text, target, range: { start: Number(from), end: Number(to ?? from) } }
}
