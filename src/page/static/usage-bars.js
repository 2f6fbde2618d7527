import { svgElement } from './dom.js'

const width = 300
const height = 10

/**
 * A bar for a share, with its text for screen readers. Words beside it say the same.
 * @param {string} label
 * @param {number} share 0 to 1; more fills the bar
 * @param {'' | 'warn' | 'bad'} [tone]
 * @param {...SVGElement} marks
 */
export function bar(label, share, tone = '', ...marks) {
  const filled = Math.min(1, Math.max(0, share)) * width
  return svgElement(
    'svg',
    {
      class: 'share-bar',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': `${label}: ${Math.round(share * 100)} %`,
    },
    svgElement('rect', { width, height, class: 'slot' }),
    svgElement('rect', { width: filled > 0 ? Math.max(2, filled) : 0, height, class: `bar ${tone}` }),
    ...marks,
  )
}

/**
 * The share of a plan that is used, with a mark where an even use over the month would be now.
 * @param {string} label
 * @param {number} share
 * @param {number | undefined} monthShare the part of the month that is over
 */
export function planBar(label, share, monthShare) {
  if (monthShare === undefined) return bar(label, share, toneOf(share))
  const text = `${label}, after ${Math.round(monthShare * 100)} % of the month`
  const mark = svgElement(
    'rect',
    { x: Math.min(width - 2, monthShare * width), width: 2, height, class: 'pace' },
    svgElement('title', {}, `${Math.round(monthShare * 100)} % of the month is over`),
  )
  return bar(text, share, toneOf(share), mark)
}

/** @param {number} share */
function toneOf(share) {
  return share >= 1 ? 'bad' : share > 0.85 ? 'warn' : ''
}
