import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'

export const executable = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: executable,
    args: [
      // Chromium's sandbox refuses to run as root, as in containers.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Text is as wide on every machine as its fonts allow; subpixels would add the display's own.
      '--font-render-hinting=none',
    ],
  })
}

export interface Look {
  readonly scheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly forcedColors?: 'active'
}

/** A tab, with what the browser reported of it: requests to other origins, errors of scripts, violations of the policy. */
export interface Tab {
  readonly page: Page
  readonly complaints: readonly string[]
  readonly close: () => Promise<void>
}

export async function openTab(browser: Browser, url: string, look: Look = {}): Promise<Tab> {
  const { scheme = 'light', width = 1280, height = 800, forcedColors } = look
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
    ...(forcedColors && { forcedColors }),
    locale: 'en-GB',
    timezoneId: 'UTC',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  const complaints: string[] = []
  const { origin } = new URL(url)
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`another origin: ${request.url()}`)
  })
  page.on('pageerror', (error) => complaints.push(`script error: ${error.message}`))
  page.on('console', (message) => {
    // Ignore failed requests: tests cause them on purpose, and the page itself reports them.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      complaints.push(`console: ${message.text()}`)
    }
  })
  await page.goto(url)
  return { page, complaints, close: () => context.close() }
}
