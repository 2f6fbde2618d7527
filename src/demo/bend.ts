import type { Frames } from './habits/habit.ts'
import { markerNumber } from './markers.ts'
import type { Markers } from './markers.ts'
import type { StreamReply } from './outcome.ts'

/** Breaks a stream where a marker asks for it. */
export function bend(
  { leadCount = 0, content, closing, error }: Frames,
  done: string,
  { asked }: Markers,
): { readonly frames: readonly string[]; readonly ending: StreamReply['ending'] } {
  const half = content.slice(0, Math.ceil(content.length / 2))
  const failed = asked.get('failed')
  if (failed !== undefined) {
    const [code, form] = failed
    return {
      frames: [...content.slice(0, leadCount), error({ sent: leadCount, code, isBare: form === 'event' })],
      ending: 'end',
    }
  }
  if (asked.has('hang')) return { frames: [], ending: 'hold' }
  if (asked.has('stall')) return { frames: half, ending: 'hold' }
  if (asked.has('cut')) return { frames: half, ending: 'cut' }
  if (asked.has('eof')) return { frames: half, ending: 'end' }
  for (const name of ['error-mid', 'error-event'] as const) {
    const given = asked.get(name)
    if (given === undefined) continue
    const wish = { sent: half.length, code: given[0], isBare: name === 'error-event' }
    return { frames: [...half, error(wish)], ending: 'end' }
  }
  if (done === '' || asked.has('no-done')) return { frames: [...content, ...closing], ending: 'end' }
  return { frames: [...content, ...closing, done], ending: 'end' }
}

/** The frames as writes of so many each. */
export function joined(frames: readonly string[], perWrite: number): readonly string[] {
  if (perWrite <= 1) return frames
  const pieces: string[] = []
  for (let at = 0; at < frames.length; at += perWrite) pieces.push(frames.slice(at, at + perWrite).join(''))
  return pieces
}

/** Longest wait between two events that a marker may ask for. */
const MAX_DELAY_MS = 60_000

/** The wait before each event: the usual one, unless a marker says otherwise. */
export function delayOf(markers: Markers, usualMs: number): number {
  return Math.min(markerNumber(markers, 'slow', usualMs), MAX_DELAY_MS)
}
