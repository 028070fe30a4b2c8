// Two dialogs (pin.js holds a third): why a plan is rejected, and under which name decisions are recorded.
import { el, icon, left, outside, sentence } from './text.js';
import { maskedIn } from './evidence.js';

const SUGGESTIONS = [
  ['Too broad', 'Too broad. Narrow the WHERE and preview again.'],
  ['Wrong table', 'Wrong table. Ask me which one before you try again.'],
  ['Not now', 'Not now. Do not try again until I say so.'],
  ['Ask me first', 'Ask me first. Say in the chat what you want to do and why.'],
];

export function show(box, opener, done) {
  document.body.append(box);
  box.addEventListener('close', () => {
    box.remove();
    done();
    if (opener && opener.isConnected) opener.focus({ preventScroll: true });
  });
  box.showModal();
}

// reject asks for a reason. Escape and "Keep it waiting" change nothing. It returns the dialog,
// with tick() for the countdown.
export function reject(c, opener, app, send) {
  const s = c.render.sentence;
  const time = el('b');
  const text = el('textarea', { id: 'rj-t', 'aria-describedby': 'rj-n' });
  const err = el('p', { class: 'note-err', role: 'alert' });
  const pick = ([label, words]) => el('label', { class: 'pick' }, el('input', {
    type: 'radio', name: 'why', onchange: () => {
      if (text.value.trim() === '' || SUGGESTIONS.some((x) => x[1] === text.value)) text.value = words;
    },
  }), ' ' + label);
  const keep = el('button', { class: 'btn', type: 'button', onclick: () => box.close() }, c.state === 'approved' ? 'Leave it approved' : 'Keep it waiting');
  const go = el('button', {
    class: 'btn btn-yes', type: 'button', onclick: async () => {
      if (go.getAttribute('aria-disabled') === 'true') return;
      go.setAttribute('aria-disabled', 'true');
      go.firstChild.replaceChildren(icon('x'), 'Rejecting\u2026');
      const wrong = await send(text.value);
      if (!wrong) {
        box.close();
        return;
      }
      err.replaceChildren(...outside(wrong));
      go.setAttribute('aria-disabled', 'false');
      go.firstChild.replaceChildren(icon('x'), 'Reject and tell the agent');
    },
  }, el('span', null, icon('x'), 'Reject and tell the agent'));
  const box = el('dialog', { class: 'modal', 'aria-labelledby': 'rj-h', 'aria-describedby': 'rj-d' },
    el('div', null, el('h2', { id: 'rj-h' }, 'Reject this plan?'), el('p', { class: 'sub', id: 'rj-d' }, sentence(s.main)),
      el('p', { class: 'sub' }, 'Final for this plan. Nothing changes in the database. ', time, ' left.')),
    el('fieldset', null, el('legend', { class: 'label' }, 'What should the agent do now?'), el('div', { class: 'picks' }, SUGGESTIONS.map(pick))),
    el('div', { class: 'field' }, el('label', { for: 'rj-t' }, 'The agent will read this'), text, el('p', { class: 'help', id: 'rj-n' }, 'It is also kept in the audit log. No passwords, please.', maskedIn(c).length > 0 && ' Leave out what the agent sees masked.')),
    err, el('div', { class: 'row' }, keep, go));
  box.tick = () => { time.textContent = left(c.expires_at - app.now()); };
  box.tick();
  show(box, opener, () => app.dialogClosed());
  return box;
}

export function person(current, opener, app, save) {
  const input = el('input', { id: 'nm', autocomplete: 'name', maxlength: 200 });
  input.value = current;
  const use = el('button', { class: 'btn btn-yes', type: 'button', onclick: () => { save(input.value.trim()); box.close(); } }, 'Use this name');
  const box = el('dialog', { class: 'modal', 'aria-labelledby': 'nm-h' },
    el('h2', { id: 'nm-h' }, 'Who decides?'),
    el('div', { class: 'field' }, el('label', { for: 'nm' }, 'Your name, as it is recorded'), input, el('p', { class: 'help' }, 'It goes into the audit log with each decision. Nobody checks it.')),
    el('div', { class: 'row' }, el('button', { class: 'btn', type: 'button', onclick: () => box.close() }, 'Keep the old one'), use));
  show(box, opener, () => app.dialogClosed());
  return box;
}
