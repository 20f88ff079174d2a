//! Searching in the languages that the model knows, and across them.

use mnemon_recall::{Hit, Model, NewDoc, SearchRequest, WorkspaceIndex};

/// By language: twenty records, and twenty questions that have nothing to do with them.
const UNRELATED: &str = include_str!("data/unrelated.jsonl");
const LANGUAGES: usize = 21;

fn index_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    for (seq, text) in (1..).zip(texts) {
        index.add(NewDoc::new(seq, text));
    }
    index
}

fn search(index: &WorkspaceIndex, query: &str) -> Vec<Hit> {
    index.search(&SearchRequest::new(query, 10))
}

#[test]
fn unrelated_questions_get_no_answer_that_looks_like_one() {
    let lines = UNRELATED.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let texts = |of: &serde_json::Value| serde_json::from_value::<Vec<String>>(of.clone()).unwrap();
    let mut languages = 0;
    for line in lines {
        let (records, questions) = (texts(&line["records"]), texts(&line["questions"]));
        assert_eq!((records.len(), questions.len()), (20, 20), "{}", line["lang"]);
        let index = index_of(records.iter().map(String::as_str));
        let is_answered = |question: &&String| search(&index, question).iter().any(|hit| hit.score > 0.5);
        let answered: Vec<&String> = questions.iter().filter(is_answered).collect();
        assert!(answered.len() <= 1, "{}: {answered:?}", line["lang"]);
        languages += 1;
    }
    assert_eq!(languages, LANGUAGES);
}

/// A fact in each language is found by an English question, and the English fact by a question in each.
#[test]
fn a_fact_is_found_across_languages_by_meaning_alone() {
    let english = ["Backups are stored in Frankfurt and kept for ninety days.", "The elevator is being repaired."];
    let questions = [
        ("ru", "Сколько дней хранятся резервные копии?"),
        ("de", "Wie lange werden die Sicherungskopien aufbewahrt?"),
        ("fr", "Combien de temps gardons-nous les sauvegardes ?"),
        ("es", "¿Cuánto tiempo se conservan las copias de seguridad?"),
        ("pl", "Jak długo przechowujemy kopie zapasowe?"),
        ("zh", "备份保存多少天？"),
        ("ja", "バックアップは何日間保存されますか。"),
        ("ko", "백업은 며칠 동안 보관하나요?"),
        ("tr", "Yedekler kaç gün saklanır?"),
        ("fi", "Kuinka kauan varmuuskopiot säilytetään?"),
    ];
    for (language, question) in questions {
        let first = |index: &WorkspaceIndex, query: &str| search(index, query).first().map(|hit| hit.seq);
        assert_eq!(first(&index_of(english), question), Some(1), "{language} to English");
        let own = index_of([question, english[1]]);
        assert_eq!(first(&own, "how long do we keep backups"), Some(1), "English to {language}");
    }
}

#[test]
fn function_words_find_nothing_while_others_are_there() {
    let spanish = index_of(["La clave de la caldera es de Juan", "El informe de la semana"]);
    assert_eq!(search(&spanish, "¿De quién es la bicicleta de la vecina?"), []);
    let german = index_of(["Der Schlüssel liegt unter der Matte", "Das Treffen ist am Montag"]);
    assert_eq!(search(&german, "Ist das der Hund von der Nachbarin?"), []);
    // Where there is nothing else, they are what is asked for.
    assert_eq!(search(&german, "unter der").first().map(|hit| hit.seq), Some(1));
}

/// `die` is an article in German and a verb in English.
#[test]
fn a_word_is_no_function_word_in_an_english_text() {
    let index = index_of(["the batteries die after two hours", "the lamp is red"]);
    assert_eq!(search(&index, "when do the batteries of the drone die").first().map(|hit| hit.seq), Some(1));
    assert_eq!(search(&index, "things that die").first().map(|hit| hit.seq), Some(1));
}

/// The model has pieces for the letters of further scripts. Their sums mean nothing, and words decide alone.
#[test]
fn a_script_that_the_model_does_not_know_is_ranked_by_words() {
    let index = index_of(["Ο κωδικός του λέβητα είναι 4711", "Η ομάδα συναντιέται τη Δευτέρα"]);
    assert_eq!(search(&index, "κωδικός").len(), 1);
    assert_eq!(search(&index, "ποδήλατο"), []);
    assert_eq!(search(&index, "heating password"), []);
}

/// What comes along is about as near as the nearest; where that is not near enough, none comes.
#[test]
fn the_gate_judges_the_query_by_its_nearest_record() {
    let index = index_of([
        "failover is manual with pg_ctl promote",
        "the standby takes over when the primary crashes",
        "the office is closed on fridays",
    ]);
    let explained = index.explain(&SearchRequest::new("switching databases", 10));
    let cosines: Vec<f64> = explained.hits.iter().filter_map(|hit| hit.cosine).collect();
    let nearest = cosines.iter().copied().fold(0.0, f64::max);
    assert!(cosines.iter().all(|&cosine| cosine > nearest / 2.0 - 1e-5), "{cosines:?}");
    let held_back = explained.held_back.iter().all(|held| held.cosine <= explained.cosine_bar);
    assert!(held_back, "{explained:?}");
    assert_eq!(search(&index, "recipe for lasagne"), []);
}
