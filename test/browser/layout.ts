import { fileURLToPath } from 'node:url'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'

/** What must be on the screen in full, where it is there at all. */
const landmarks = [
  '.top',
  '.side',
  '.session-head',
  '.scroller',
  '.composer',
  '.waiting',
  '.view',
  'dialog[open]',
  '.sign-in',
]

interface Box {
  readonly name: string
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/**
 * Compares the layout with its rules, not with pixels of another machine, whose fonts are others: nothing is wider than the
 * window, landmarks do not overlap, no text of a control is cut, and what can be pressed is at least 24 pixels each way
 * (WCAG 2.2, 2.5.8) or text in a line.
 */
export async function expectLayout(page: Page, name: string): Promise<void> {
  const { width, height, scrollWidth } = await page.evaluate(() => ({
    width: innerWidth,
    height: innerHeight,
    scrollWidth: document.documentElement.scrollWidth,
  }))
  expect(scrollWidth, 'the page scrolls sideways').toBeLessThanOrEqual(width)

  const boxes = await page.evaluate(boxesOf, landmarks)
  for (const { name: box, left, right, top, bottom } of boxes) {
    const isInside = left >= 0 && right <= width && top >= 0 && (bottom <= height || box === '.view')
    expect(isInside, `${box} leaves the window: ${left}–${right} × ${top}–${bottom}`).toBe(true)
  }
  if (!boxes.some(({ name: box }) => box === 'dialog[open]')) {
    for (const one of boxes) {
      for (const other of boxes)
        if (one !== other) expect(overlaps(one, other), `${one.name} covers ${other.name}`).toBe(false)
    }
  }

  compareBoxes(name, boxes)

  const faults = await page.evaluate(() => {
    const found: string[] = []
    const root = document.querySelector('dialog[open]') ?? document.body
    for (const node of root.querySelectorAll<HTMLElement>('button, select, textarea, summary, a, label.button')) {
      const { width: wide, height: high } = node.getBoundingClientRect()
      if (wide === 0 || node.matches('.skip-link')) continue
      const isInText = node.matches('a') && getComputedStyle(node).display === 'inline'
      const text = node.textContent?.slice(0, 30) ?? ''
      if (!isInText && !node.matches('summary') && (wide < 24 || high < 24))
        found.push(`small: ${text} ${wide}×${high}`)
      if (node.matches('button') && node.scrollWidth > node.clientWidth + 1) found.push(`cut: ${text}`)
    }
    return found
  })
  expect(faults).toEqual([])
}

const goldenFile = fileURLToPath(new URL('layout.golden.json', import.meta.url))
const goldenBoxes = z.record(z.string(), z.record(z.string(), z.array(z.number()).length(4)))

/** Fonts of other machines have other heights and break lines elsewhere. Pixels. */
const tolerance = 40

/**
 * Compares where the landmarks are with a stored reference. Pixels of a picture would differ on every machine with other fonts;
 * places and sizes differ little, and show a layout that has moved.
 */
function compareBoxes(name: string, boxes: readonly Box[]): void {
  const golden = goldenBoxes.parse(JSON.parse(readFileSync(goldenFile, 'utf8')))
  const found = Object.fromEntries(
    boxes.map(({ name: box, left, right, top, bottom }) => [box, [left, top, right, bottom].map(Math.round)]),
  )
  if (process.env['PAGE_LAYOUT'] === '1') {
    writeFileSync(goldenFile, `${JSON.stringify({ ...golden, [name]: found }, undefined, 2)}\n`)
    return
  }
  const wanted = golden[name] ?? {}
  expect(Object.keys(found).toSorted(), `landmarks of ${name}`).toEqual(Object.keys(wanted).toSorted())
  const moved = Object.entries(found).flatMap(([box, sides]) =>
    sides.every((side, at) => Math.abs(side - (wanted[box]?.[at] ?? Infinity)) <= tolerance)
      ? []
      : [`${box} is at ${sides.join(' ')}, was at ${wanted[box]?.join(' ')}`],
  )
  expect(moved, `the layout of ${name}`).toEqual([])
}

function boxesOf(selectors: readonly string[]): readonly Box[] {
  return selectors.flatMap((name) => {
    const node = document.querySelector(name)
    if (node === null) return []
    const { left, right, top, bottom, width } = node.getBoundingClientRect()
    return width === 0 ? [] : [{ name, left, right, top, bottom }]
  })
}

function overlaps(one: Box, other: Box): boolean {
  const across = Math.min(one.right, other.right) - Math.max(one.left, other.left)
  const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top)
  return across > 1 && down > 1
}
