/** @import { LoginFlow, LoginReport, LogoutReport, ProviderLogin } from '../../api/logins.ts' */
import { announce } from './announce.js'
import { ask } from './api.js'
import { ownerAction } from './command-line.js'
import { copyButton } from './copy-button.js'
import { element, replaceChildren } from './dom.js'
import { createView } from './view.js'

/** Intervals between two reads, while a login is under way and otherwise. Ms. */
const waitingMs = 1500
const refreshMs = 10_000

const providers = /** @type {const} */ ([
  { id: 'copilot', name: 'GitHub Copilot', issuer: 'GitHub', command: 'copilot-proxy login' },
  { id: 'codex', name: 'OpenAI Codex', issuer: 'ChatGPT', command: 'copilot-proxy login codex' },
])

/** @typedef {(typeof providers)[number]} Provider */

/** @satisfies {Record<ProviderLogin['state'], readonly [text: string, tone: 'good' | 'warn' | 'bad' | 'off']>} */
const states = /** @type {const} */ ({
  starting: ['Starting …', 'off'],
  ok: ['In use', 'good'],
  expired: ['In use; the next request renews the token', 'good'],
  login_required: ['Not logged in', 'off'],
  no_access: ['No access', 'bad'],
  rate_limited: ['Slowed down', 'warn'],
  unreachable: ['Not reachable', 'warn'],
  unreadable: ['Cannot be read', 'bad'],
  off: ['Off', 'off'],
})

/** @satisfies {Record<ProviderLogin['source'], string>} */
const sources = {
  stored: '',
  environment: 'The token in COPILOT_GITHUB_TOKEN is used. It takes precedence over stored logins.',
  'codex-cli': 'The login of Codex CLI is used (codex.use-cli-login).',
  'api-key': 'The API key of the configuration is used (codex.api-key).',
  demo: 'The demo answers with a simulated account. Without --demo, you log in here.',
}

/**
 * The accounts, and a login with a code.
 * @param {(error: unknown) => void} onFailure
 */
export function createLoginsView(onFailure) {
  /** @type {LoginReport | undefined} */
  let report
  const stored = element('p', { class: 'muted' })
  const cards = providers.map((provider) => createProviderCard(provider, act))
  const view = createView(
    {
      title: 'Logins',
      lead: 'Whose models answer. Each provider has a login of its own.',
      read,
      everyMs: () => (isWaiting() ? waitingMs : refreshMs),
      onFailure,
    },
    element('div', { class: 'cards wide' }, ...cards.map(({ node }) => node)),
    stored,
  )

  function isWaiting() {
    return [report?.copilot, report?.codex].some(
      (login) => login?.flow !== null && login?.flow !== undefined && !/done|failed/.test(login.flow.state),
    )
  }

  async function read() {
    show(await ask('logins'))
  }

  /** @param {LoginReport} next */
  function show(next) {
    report = next
    stored.textContent = next.stored
    for (const card of cards) card.update(next[card.id])
  }

  /**
   * @param {string} path
   * @param {'POST' | 'DELETE'} method
   */
  async function act(path, method) {
    try {
      const answer = await ask(path, { method })
      if (method === 'DELETE') {
        /** @type {LogoutReport} */
        const { account, next } = answer
        announce(
          account === null
            ? 'Nobody was logged in.'
            : `Logged out ${account}.${next === null ? '' : ` Now using ${next}.`}`,
        )
      }
      view.fail('')
    } catch (error) {
      view.fail(error)
    }
    await view.refresh()
  }

  return view
}

/**
 * @param {Provider} provider
 * @param {(path: string, method: 'POST' | 'DELETE') => Promise<void>} act
 */
function createProviderCard({ id, name, issuer, command }, act) {
  let shown = ''
  let isBusy = false
  let hasFocus = false
  const state = element('span', { class: 'state', role: 'status' })
  const body = element('div', { class: 'login-body' })
  const node = element('section', { class: 'card' }, element('header', {}, element('h3', {}, name), state), body)
  const flowBox = createFlowBox(issuer, () => run(`logins/${id}/cancel`, 'POST'))

  /**
   * @param {string} path
   * @param {'POST' | 'DELETE'} method
   */
  async function run(path, method) {
    if (isBusy) return
    isBusy = true
    // A button that is disabled loses the focus.
    hasFocus = body.contains(document.activeElement)
    for (const button of body.querySelectorAll('button')) button.disabled = true
    await act(path, method)
    isBusy = false
    hasFocus = false
    for (const button of body.querySelectorAll('button')) button.disabled = false
  }

  /** @param {ProviderLogin} login */
  function contentOf({ state: now, detail, fix, source, accounts, flow }) {
    const isUnderWay = flow !== null && flow.state !== 'done' && flow.state !== 'failed'
    const isFine = now === 'ok' || now === 'expired' || now === 'starting'
    const sentence = [detail, fix].filter(Boolean).join(' ')
    const canLogIn = source === 'stored' && now !== 'off' && !isUnderWay
    const logOut = id === 'copilot' ? 'copilot-proxy logout' : 'copilot-proxy logout codex'
    return [
      accounts.length > 0 &&
        element('ul', { class: 'accounts' }, ...accounts.map((account) => accountView(account, accounts.length > 1))),
      sources[source] !== '' && element('p', {}, sources[source]),
      !isFine && now !== 'login_required' && sentence !== '' && element('p', { class: 'warn-text' }, sentence),
      accounts.length === 0 &&
        now === 'login_required' &&
        !isUnderWay &&
        element('p', {}, `Nobody is logged in. You get a code here and type it at ${issuer}, on any device.`),
      flow?.state === 'done' &&
        element(
          'p',
          { class: 'good-text' },
          `Logged in as ${flow.account}${flow.plan === null ? '' : `, with ${flow.plan}`}.`,
        ),
      flow?.state === 'failed' && element('p', { class: 'failure' }, flow.message),
      isUnderWay && flowBox.node,
      (canLogIn || accounts.some(({ used }) => used)) &&
        element(
          'div',
          { class: 'buttons' },
          canLogIn &&
            ownerAction(
              element(
                'button',
                {
                  type: 'button',
                  class: accounts.length === 0 ? 'primary' : '',
                  click: () => void run(`logins/${id}`, 'POST'),
                },
                accounts.length === 0 ? `Log in with ${issuer}` : 'Log in with another account',
              ),
              command,
            ),
          accounts.some(({ used }) => used) &&
            ownerAction(
              element('button', { type: 'button', click: () => void run(`logins/${id}`, 'DELETE') }, 'Log out'),
              logOut,
            ),
        ),
    ]
  }

  return {
    id,
    node,
    /** @param {ProviderLogin} login */
    update(login) {
      const [text, tone] = states[login.state]
      state.textContent = text
      state.dataset['tone'] = tone
      flowBox.update(login.flow)
      // The rest of the card changes seldom; new nodes would take the focus.
      const next = JSON.stringify({ ...login, flow: login.flow?.state === 'waiting' ? 'waiting' : login.flow })
      if (next === shown) return
      shown = next
      replaceChildren(body, contentOf(login), hasFocus || undefined)
      if (login.flow?.state === 'done') announce(`Logged in as ${login.flow.account}.`)
      if (login.flow?.state === 'waiting')
        announce(`Enter the code ${login.flow.user_code.split('').join(' ')} at ${issuer}.`)
    },
  }
}

/**
 * @param {ProviderLogin['accounts'][number]} account
 * @param {boolean} isOneOfSeveral
 */
function accountView({ name, plan, used }, isOneOfSeveral) {
  return element(
    'li',
    {},
    element('strong', {}, name),
    plan !== null && element('span', { class: 'muted' }, plan),
    isOneOfSeveral && used && element('span', { class: 'tag good' }, 'in use'),
  )
}

/**
 * The code of a login under way, large, with where to type it.
 * @param {string} issuer
 * @param {() => Promise<void>} cancel
 */
function createFlowBox(issuer, cancel) {
  let expiresAtMs = 0
  const code = element('output', { class: 'user-code', 'aria-label': 'Code' })
  const link = element('a', { class: 'button primary', target: '_blank', rel: 'noreferrer noopener' })
  const status = element('p', { class: 'working' })
  const steps = element(
    'div',
    {},
    element('p', {}, `Type this code at ${issuer}:`),
    element(
      'p',
      { class: 'code-row' },
      code,
      copyButton(() => code.value, 'Copy the code'),
    ),
  )
  const node = element(
    'div',
    { class: 'login-flow' },
    steps,
    element(
      'div',
      { class: 'buttons' },
      link,
      element('button', { type: 'button', click: () => void cancel() }, 'Cancel'),
    ),
    status,
  )
  setInterval(tick, 1000)

  function tick() {
    if (expiresAtMs === 0) return
    const seconds = Math.max(0, Math.ceil((expiresAtMs - Date.now()) / 1000))
    const left = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
    status.textContent = `Waiting for ${issuer}. The code expires in ${left}.`
  }

  return {
    node,
    /** @param {LoginFlow | null} flow */
    update(flow) {
      steps.hidden = flow?.state !== 'waiting'
      link.hidden = steps.hidden
      if (flow?.state !== 'waiting') {
        expiresAtMs = 0
        status.textContent =
          flow?.state === 'checking' ? `${issuer} agreed. Checking the account …` : 'Asking for a code …'
        return
      }
      expiresAtMs = Date.parse(flow.expires_at)
      if (code.value !== flow.user_code) code.value = flow.user_code
      const address = URL.parse(flow.verification_uri)
      // The daemon accepts the provider's own page only; a link of another kind would still be no link.
      if (address === null || !/^https?:$/.test(address.protocol)) return
      link.href = address.href
      link.textContent = `Open ${address.host}${address.pathname}`
      tick()
    },
  }
}
