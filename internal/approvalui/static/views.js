// The pages beside the queue: the audit log, what was refused, and the life of one plan.
import { el, outside, sentence } from './text.js';
import { agent, meta } from './card.js';
import { Audit, lifeFromLog, refusals, steps } from './audit.js';
import { samples, statement } from './evidence.js';
import * as net from './net.js';

// make returns route(), which shows what the address says, and changed(event), which follows the
// stream. page holds the parts of the frame; app as for cards, with inert() and complaint(e).
export function make(app, page) {
  let audit = null;
  let shown = null;

  async function route() {
    const h = location.hash;
    const at = h.startsWith('#plan/') ? 'plan' : h === '#history' || h === '#refused' ? h.slice(1) : '';
    const moved = h !== shown;
    shown = h;
    page.queue.hidden = at !== '';
    page.other.hidden = at === '';
    for (const [link, on] of [[page.waiting, at === ''], [page.historyLink, at === 'history' || at === 'plan'], [page.refusedLink, at === 'refused']]) {
      if (on) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    if (at === '') { app.inert(); return; }
    if (at === 'history') {
      audit ||= new Audit(app);
      if (!moved) return;
      page.other.replaceChildren(audit.root);
      await audit.start();
      return;
    }
    try {
      const data = await net.get(at === 'refused' ? '/api/refusals' : '/api/plans/' + encodeURIComponent(h.slice(6)));
      if (location.hash === h) page.other.replaceChildren(...(at === 'refused' ? refusals(data.refusals) : life(data)));
    } catch (e) {
      if (location.hash === h) page.other.replaceChildren(el('div', { class: 'head' }, el('h1', null, at === 'plan' ? 'Plan' : 'Refused')), el('p', null, outside(app.complaint(e))));
    }
  }

  function life(data) {
    if (!data.plan) return lifeFromLog(data);
    const c = data.plan;
    const s = c.render.sentence;
    return [
      el('div', { class: 'head' }, el('h1', null, sentence(c.result ? c.result.head : s.main)), el('p', null, c.result ? sentence(c.result.body) : ['It waits for a decision, under ', el('a', { href: '#' }, 'Waiting'), '.'])),
      el('div', { class: 'chain' }, ...[steps(data.history), data.audit_note && el('p', { class: 'help' }, outside(data.audit_note)),
        el('h2', { class: 'vh' }, 'The plan'), agent(c), samples(c), statement(c, true), meta(c, app.server)].filter(Boolean))];
  }

  return {
    route,
    changed(event) {
      if (event === 'plan' && location.hash.startsWith('#plan/')) route();
      if (event === 'plan' && location.hash === '#history' && audit) audit.arrived();
      if (event === 'refused' && location.hash === '#refused') route();
    },
  };
}

// refusedLink is the way to the refusals, with their number; count(n) sets it.
export function refusedLink() {
  const number = el('span', { class: 'count count-plain', hidden: true });
  const link = el('a', { href: '#refused' }, 'Refused ', number);
  link.count = (n) => {
    number.hidden = !n;
    number.replaceChildren(n > 99 ? '99+' : String(n || 0), el('span', { class: 'vh' }, ' in the last hour'));
  };
  return link;
}
