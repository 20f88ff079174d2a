//! Everyday prompts in several languages, with a memory in the same language: a hook that adds what has nothing to do
//! with them would cost every session its attention.

use mnemon_testkit::TestServer;
use serde_json::{Value, json};

use super::hooks::{prompt, run};
use super::process::Home;

/// Twenty records of a software team, by language.
const RECORDS: &str = include_str!("../../../../recall/tests/data/unrelated.jsonl");

const SPANISH: [&str; 20] = [
    "Escribe un poema corto sobre las tardes de invierno",
    "¿Puedes explicarme qué hace esta función?",
    "Corrige la ortografía de este párrafo, por favor",
    "Añade una prueba para el caso en que no llegue nada",
    "¿Cuál es la diferencia entre un hilo y un proceso?",
    "Cambia el nombre de la variable para que se entienda mejor",
    "Haz un resumen de lo que hemos hecho hoy",
    "Quiero una receta de lentejas para cuatro personas",
    "Muéstrame cómo se ordena un vector en Rust",
    "¿De qué color pinto la pared de la sala?",
    "Vamos a empezar de nuevo, borra lo que escribiste",
    "¿Qué tiempo hará mañana en Sevilla?",
    "Traduce la siguiente frase al inglés",
    "Me gustaría que el botón fuera un poco más grande",
    "Gracias, así está bien, sigue con lo demás",
    "Dame tres ideas para el nombre de un gato",
    "¿Por qué el compilador se queja de esta línea?",
    "Divide la tarea en pasos más pequeños",
    "Explícame la fotosíntesis como si tuviera diez años",
    "¿Cuántos kilómetros hay de la Tierra a la Luna?",
];

const GERMAN: [&str; 20] = [
    "Schreib mir ein kurzes Gedicht über den Herbst",
    "Kannst du mir erklären, was diese Funktion macht?",
    "Verbessere bitte die Rechtschreibung in diesem Absatz",
    "Füge einen Test für den Fall hinzu, dass nichts übergeben wird",
    "Was ist der Unterschied zwischen einem Thread und einem Prozess?",
    "Gib der Variablen einen Namen, den man versteht",
    "Fasse zusammen, was wir heute gemacht haben",
    "Ich hätte gern ein Rezept für Linsensuppe",
    "Zeig mir, wie man in Rust einen Vektor sortiert",
    "Welche Farbe passt zu einem blauen Sofa?",
    "Fangen wir noch einmal von vorne an",
    "Wie wird morgen das Wetter in Hamburg?",
    "Übersetze den folgenden Satz ins Englische",
    "Der Knopf soll ein bisschen größer werden",
    "Danke, das passt so, mach mit dem Rest weiter",
    "Nenn mir drei Namen für eine Katze",
    "Warum beschwert sich der Compiler über diese Zeile?",
    "Teile das in zwei kleinere Stücke auf",
    "Erkläre mir die Photosynthese wie einem Kind",
    "Wie weit ist der Mond von der Erde entfernt?",
];

const FRENCH: [&str; 20] = [
    "Écris un petit poème sur les soirées d'hiver",
    "Peux-tu m'expliquer ce que fait cette fonction ?",
    "Corrige l'orthographe de ce paragraphe, s'il te plaît",
    "Ajoute un test pour le cas où rien n'est donné",
    "Quelle est la différence entre un fil et un processus ?",
    "Donne à cette variable un nom plus clair",
    "Fais un résumé de ce que nous avons fait aujourd'hui",
    "Je voudrais une recette de soupe aux lentilles",
    "Montre-moi comment trier un vecteur en Rust",
    "Quelle couleur va avec un canapé bleu ?",
    "On recommence depuis le début, efface ce que tu as écrit",
    "Quel temps fera-t-il demain à Lyon ?",
    "Traduis la phrase suivante en anglais",
    "Le bouton devrait être un peu plus grand",
    "Merci, c'est très bien, continue avec le reste",
    "Propose-moi trois noms pour un chat",
    "Pourquoi le compilateur se plaint-il de cette ligne ?",
    "Coupe cela en deux morceaux plus petits",
    "Explique-moi la photosynthèse comme à un enfant",
    "À quelle distance de la Terre se trouve la Lune ?",
];

const RUSSIAN: [&str; 20] = [
    "Напиши короткое стихотворение о зимнем вечере",
    "Можешь объяснить, что делает эта функция?",
    "Исправь, пожалуйста, орфографию в этом абзаце",
    "Добавь тест на случай, когда ничего не передано",
    "Чем поток отличается от процесса?",
    "Назови эту переменную понятнее",
    "Подведи итог того, что мы сделали сегодня",
    "Мне нужен рецепт чечевичного супа",
    "Покажи, как в Rust отсортировать вектор",
    "Какой цвет подойдёт к синему дивану?",
    "Давай начнём сначала, убери то, что написал",
    "Какая завтра погода в Казани?",
    "Переведи следующее предложение на английский",
    "Пусть кнопка будет немного больше",
    "Спасибо, так хорошо, продолжай дальше",
    "Придумай три имени для кошки",
    "Почему компилятор ругается на эту строку?",
    "Раздели это на две части поменьше",
    "Объясни мне фотосинтез, как ребёнку",
    "Сколько километров от Земли до Луны?",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_everyday_prompt_brings_nothing_along_in_any_language() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let home = Home::new();
    let variables = [("MNEMON_URL", server.url.as_str()), ("MNEMON_API_KEY", ana.key.as_str())];
    for (language, prompts) in [("es", SPANISH), ("de", GERMAN), ("fr", FRENCH), ("ru", RUSSIAN)] {
        let lines = RECORDS.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let records = lines.into_iter().find(|line| line["lang"] == language).expect("the language")["records"].clone();
        for record in records.as_array().expect("a list") {
            ana.call("remember", json!({"content": record, "workspace": language})).await.structured();
        }
        let hook = |text: &str| {
            let input = prompt(text).to_string();
            let done = run(&home, &["--workspace", language], &variables, input.as_bytes());
            assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
            done.out
        };
        let first = records[0].as_str().expect("a text");
        assert!(hook(first).contains("additionalContext"), "{language}: what is there is brought along");
        let brought: Vec<String> = prompts.iter().map(|text| hook(text)).filter(|told| !told.is_empty()).collect();
        assert!(brought.is_empty(), "{language}: {brought:#?}");
    }
}
